local code = ...
local timer = vim.uv.new_timer()
_G.fast = nil
timer:start(0, 0, function()
  timer:close()
  local was = vim.in_fast_event()
  local ok, why = pcall(loadstring(code))
  _G.fast = { was, ok, ok and '' or why, ok and why or nil }
end)
