--- Background work on Neovim's main thread. It runs in slices, and keys are handled between them.
--- Without work there is no timer.
local M = {}

--- Length of a slice, and of the pause after it.
local SLICE_NS, REST_MS = 2e6, 4

--- Time without a key after which the user counts as idle.
local IDLE_MS = 300

local ns = vim.api.nvim_create_namespace('acp.chat.slices')

local queue = {} ---@type thread[]
local started = 0

local step
---@param ms integer
local function later(ms) vim.defer_fn(step, ms) end

step = function()
  started = vim.uv.hrtime()
  local job = queue[1]
  local ok, result = coroutine.resume(job)
  if not ok then require('acp.base.notify').echo('warn', tostring(result)) end
  if coroutine.status(job) == 'dead' then table.remove(queue, 1) end
  if queue[1] then later(ok and result or REST_MS) end
end

--- Return whether the slice is over.
---@return boolean
function M.over() return vim.uv.hrtime() - started > SLICE_NS end

--- End the slice of the running job.
function M.rest() coroutine.yield() end

--- Suspend the running job until the user is idle, for work that cannot be divided.
function M.idle()
  local typed = vim.uv.now()
  vim.on_key(function() typed = vim.uv.now() end, ns)
  repeat
    coroutine.yield(IDLE_MS)
  until vim.uv.now() - typed >= IDLE_MS
  vim.on_key(nil, ns)
end

--- Run a job after all others.
---@param job fun() calls `rest` whenever its slice is `over`
function M.add(job)
  queue[#queue + 1] = coroutine.create(job)
  if #queue == 1 then later(REST_MS) end
end

return M
