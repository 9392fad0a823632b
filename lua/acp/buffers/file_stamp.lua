--- The signature of a file, which changes with it: time, size and number, as the host has it
--- (`stamp_of`).
local M = {}

local GRAIN_NS = 20e6 -- a change within a tick of the file clock may leave the stamp as it is

---@param stat table of `fs_stat`
---@return string
function M.of(stat)
  return ('%d.%d.%d.%d'):format(stat.mtime.sec, stat.mtime.nsec, stat.size, stat.ino)
end

--- Whether the file was changed so recently that its next change may leave the stamp as it is.
---@param stat table of `fs_stat`
---@return boolean
function M.is_fresh(stat)
  local seconds, microseconds = vim.uv.gettimeofday()
  local age = (seconds - stat.ctime.sec) * 1e9 + microseconds * 1e3 - stat.ctime.nsec
  return age <= GRAIN_NS
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
