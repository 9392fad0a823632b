--- Long work on Neovim's main thread, in time slices between which keys are handled. Without work
--- there is no timer.
local M = {}

--- Length of a slice, and of the usual pause after it.
local SLICE_NS, PAUSE_MS = 3e6, 1

--- Time without a key after which the user counts as idle.
local IDLE_MS = 300

local ns = vim.api.nvim_create_namespace('acp.slices')

local started = 0

--- Return whether the current slice has used up its time.
---@return boolean
function M.is_over() return vim.uv.hrtime() - started > SLICE_NS end

--- End the current slice. Call this inside a job only.
function M.rest() coroutine.yield() end

--- End the current slice if it has used up its time. A job calls this between its steps.
function M.check()
  if M.is_over() then M.rest() end
end

--- Suspend the job until the user is idle, for work that cannot be divided.
function M.wait_idle()
  local typed = vim.uv.now()
  vim.on_key(function() typed = vim.uv.now() end, ns)
  repeat
    coroutine.yield(IDLE_MS)
  until vim.uv.now() - typed >= IDLE_MS
  vim.on_key(nil, ns)
end

---@param err string|nil
local function report(_, err)
  if err then require('acp.base.notify').echo('warn', err) end
end

--- Run a job, its first slice at once. Pass its result or the error to `done`.
---@param job fun(): any
---@param done? fun(result?: any, err?: string) by default, it shows the error
---@param pause_ms? integer
---@return fun() cancel
function M.run(job, done, pause_ms)
  local cancelled, thread = false, coroutine.create(job)
  done = done or report
  local function step()
    if cancelled then return end
    started = vim.uv.hrtime()
    local ok, result = coroutine.resume(thread)
    if not ok then
      done(nil, tostring(result))
    elseif coroutine.status(thread) == 'dead' then
      done(result)
    else
      -- A timer, because vim.schedule() would run before keys are handled.
      vim.defer_fn(step, result or pause_ms or PAUSE_MS)
    end
  end
  step()
  return function() cancelled = true end
end

--- Return a function that adds a job to a new queue. The jobs run one after another.
---@param pause_ms integer
---@return fun(job: fun())
function M.queue(pause_ms)
  local jobs = {} ---@type (fun())[]
  local function run_first()
    M.run(jobs[1], function(_, err)
      report(nil, err)
      table.remove(jobs, 1)
      if jobs[1] then vim.defer_fn(run_first, pause_ms) end
    end, pause_ms)
  end
  return function(job)
    jobs[#jobs + 1] = job
    if #jobs == 1 then vim.defer_fn(run_first, pause_ms) end
  end
end

return M
