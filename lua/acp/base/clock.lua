--- The clock for all that measures how long something has lasted.
local M = {}

--- Milliseconds since an arbitrary time. Unlike `vim.uv.now()` it is read anew at each call.
---@return number
function M.ms() return vim.uv.hrtime() / 1e6 end

return M
