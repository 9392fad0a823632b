--- `:x` in a buffer that never counts as modified: it writes what is modified only.
local M = {}

--- Whether `:x` is among the commands of a line, however it is written.
local function exits(line)
  repeat
    local ok, parsed = pcall(vim.api.nvim_parse_cmd, line, {})
    if not ok then return false end
    if parsed.cmd == 'xit' or parsed.cmd == 'exit' then return true end
    line = parsed.nextcmd or ''
  until line == ''
  return false
end

--- Where the user types `:x` the buffer is modified for as long as that takes, if it `holds`
--- something. The `:x` of a script or of a <Cmd> map cannot be told from a `:q` there.
---@param on acp.On adds autocommands
---@param holds fun(): boolean
function M.watch(bufnr, on, holds)
  on('CmdlineLeave', function()
    local typed = vim.fn.getcmdtype() == ':' and not vim.v.event.abort
    if typed and exits(vim.fn.getcmdline()) then
      vim.bo[bufnr].modified = holds()
      vim.schedule(function()
        pcall(vim.api.nvim_set_option_value, 'modified', false, { buf = bufnr }) -- if it is there
      end)
    end
  end, { buffer = bufnr })
end

return M
