--- Long work in short time slices, with keys handled in between.
local M = {}

local SLICE_NS, PAUSE_MS = 4e6, 1

--- Run `work(rest)`, which must call `rest` between its steps. Pass its result or the error to
--- `done`.
---@param work fun(rest: fun()): any
---@param done fun(result?: any, err?: string)
---@return fun() cancel
function M.run(work, done)
  local began, cancelled = 0, false
  local function rest()
    if vim.uv.hrtime() - began > SLICE_NS then coroutine.yield() end
  end
  local thread = coroutine.create(function() return work(rest) end)
  local function step()
    if cancelled then return end
    began = vim.uv.hrtime()
    local ok, result = coroutine.resume(thread)
    if not ok then
      done(nil, tostring(result))
    elseif coroutine.status(thread) == 'dead' then
      done(result)
    else
      vim.defer_fn(step, PAUSE_MS) -- vim.schedule() would run before keys are handled
    end
  end
  step()
  return function() cancelled = true end
end

return M
