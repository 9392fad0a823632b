--- Buffers of files: found where one is loaded, made where there is none.
local M = {}

local api = vim.api

--- The loaded buffer of a file, however it is spelled.
---@return integer|nil
function M.buffer(path)
  if vim.fn.bufexists(path) == 1 then
    local bufnr = vim.fn.bufadd(path)
    if api.nvim_buf_is_loaded(bufnr) and vim.bo[bufnr].buftype == '' then return bufnr end
  end
  for _, bufnr in ipairs(api.nvim_list_bufs()) do
    local name = api.nvim_buf_is_loaded(bufnr) and api.nvim_buf_get_name(bufnr) or ''
    if name ~= '' and vim.bo[bufnr].buftype == '' and vim.uv.fs_realpath(name) == path then
      return bufnr
    end
  end
end

--- The buffer of a file, made where there is none. Below the current directory it is named relative
--- to that, as |:edit| does: statusline, tabline and |:ls| show the name.
---@param path string absolute
---@return integer bufnr
function M.add(path)
  local name = vim.fn.fnamemodify(path, ':.')
  local odd = name:find('^~') or name:find('^%a[%w+.-]*:[/\\]') -- a home directory, an address
  return vim.fn.bufadd(odd and path or name)
end

return M
