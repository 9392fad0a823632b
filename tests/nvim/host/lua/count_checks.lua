-- Count the timers of this duration that have run, and those that are due.
local duration = ...
local defer = vim.defer_fn
_G.checks, _G.due = 0, 0
vim.defer_fn = function(fn, ms)
  if ms ~= duration then return defer(fn, ms) end
  _G.due = _G.due + 1
  return defer(function()
    _G.checks, _G.due = _G.checks + 1, _G.due - 1
    fn()
  end, ms)
end
