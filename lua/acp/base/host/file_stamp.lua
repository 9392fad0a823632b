--- Stamps that detect a change to a file: modification time, size and inode, in the format of the
--- host's `signature_of`.
local M = {}

local GRAIN_NS = 20e6 -- two changes within a tick of the file clock may have the same stamp

---@param stat table of `fs_stat`
---@return string
function M.from_stat(stat)
  return ('%d.%d.%d.%d'):format(stat.mtime.sec, stat.mtime.nsec, stat.size, stat.ino)
end

--- Return whether the file was changed so recently that another change may not change the stamp.
---@param stat table of `fs_stat`
---@return boolean
function M.is_fresh(stat)
  local seconds, microseconds = vim.uv.gettimeofday()
  local age = (seconds - stat.ctime.sec) * 1e9 + microseconds * 1e3 - stat.ctime.nsec
  return age <= GRAIN_NS
end

---@return string|nil stamp nil if the file does not exist
---@return boolean|nil is_fresh see `is_fresh`
function M.of_path(name)
  local stat = vim.uv.fs_stat(name)
  if stat then return M.from_stat(stat), M.is_fresh(stat) end
end

---@return string|nil stamp
---@return boolean|nil is_fresh
function M.of_buffer(bufnr) return M.of_path(vim.api.nvim_buf_get_name(bufnr)) end

return M
