--- Lookup and creation of the buffers of files.
local M = {}

local api = vim.api

--- Return the loaded buffer of a file, even if its name is spelled differently.
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

--- Return the buffer of a file, creating it if needed. Below the current directory its name is
--- relative, as with |:edit|, because statusline, tabline and |:ls| show the name.
---@param path string absolute
---@return integer bufnr
function M.add(path)
  local name = vim.fn.fnamemodify(path, ':.')
  -- Such a name would be a home directory or a URL.
  local is_ambiguous = name:find('^~') or name:find('^%a[%w+.-]*:[/\\]')
  return vim.fn.bufadd(is_ambiguous and path or name)
end

return M
