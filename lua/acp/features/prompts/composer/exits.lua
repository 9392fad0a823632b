--- Support for `:x` in a buffer that is never 'modified', since `:x` writes modified buffers only.
local M = {}

--- Return whether a command line contains `:x`, in any spelling.
local function contains_exit(line)
  repeat
    local ok, parsed = pcall(vim.api.nvim_parse_cmd, line, {})
    if not ok then return false end
    if parsed.cmd == 'xit' or parsed.cmd == 'exit' then return true end
    line = parsed.nextcmd or ''
  until line == ''
  return false
end

--- Set 'modified' while a typed `:x` is executed, if the buffer has text. The `:x` of a script
--- or of a <Cmd> mapping cannot be distinguished from `:q` here.
---@param on acp.On adds autocommands
---@param has_text fun(): boolean whether the buffer has text
function M.watch(bufnr, on, has_text)
  on('CmdlineLeave', function()
    local typed = vim.fn.getcmdtype() == ':' and not vim.v.event.abort
    if typed and contains_exit(vim.fn.getcmdline()) then
      vim.bo[bufnr].modified = has_text()
      vim.schedule(function()
        pcall(vim.api.nvim_set_option_value, 'modified', false, { buf = bufnr }) -- it may be gone
      end)
    end
  end, { buffer = bufnr })
end

return M
