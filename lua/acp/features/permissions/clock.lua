--- A monotonic clock for measuring durations.
local M = {}

--- Return milliseconds since an arbitrary time. Unlike `vim.uv.now()`, the value is not cached by
--- the event loop.
---@return number
function M.ms() return vim.uv.hrtime() / 1e6 end

return M
