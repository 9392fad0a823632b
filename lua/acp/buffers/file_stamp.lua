--- What tells a file from what it was: time, size and number, as the host has it (`stamp_of`).
local M = {}

function M.of(stat)
  return ('%d.%d.%d.%d'):format(stat.mtime.sec, stat.mtime.nsec, stat.size, stat.ino)
end

--- What tells one state of a file from another; nil where there is none.
---@param name string
---@return string|nil
function M.at(name)
  local stat = vim.uv.fs_stat(name)
  return stat and M.of(stat)
end

return M
