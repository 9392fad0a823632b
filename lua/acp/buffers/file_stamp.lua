--- The signature of a file, which changes with it: time, size and number, as the host has it
--- (`stamp_of`).
local M = {}

---@param stat table of `fs_stat`
---@return string
function M.of(stat)
  return ('%d.%d.%d.%d'):format(stat.mtime.sec, stat.mtime.nsec, stat.size, stat.ino)
end

--- nil where there is no file.
---@return string|nil
function M.at(name)
  local stat = vim.uv.fs_stat(name)
  return stat and M.of(stat)
end

--- That of the file of a buffer.
---@return string|nil
function M.of_buffer(bufnr) return M.at(vim.api.nvim_buf_get_name(bufnr)) end

return M
