--- Work on Neovim's main thread that nobody waits for: in slices, between which keys are answered.
--- Nothing runs and no timer is set while there is none.
local M = {}

--- How long a slice is, and how much of it is left for what cannot be divided; how long the others
--- have in between.
local SLICE_NS, REST_MS = 2e6, 4

--- How long nobody has typed where the user is said to rest.
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
  local ok, told = coroutine.resume(job)
  if not ok then require('acp.base.notify').echo('warn', tostring(told)) end
  if coroutine.status(job) == 'dead' then table.remove(queue, 1) end
  if queue[1] then later(ok and told or REST_MS) end
end

--- Whether the slice is over.
---@return boolean
function M.over() return vim.uv.hrtime() - started > SLICE_NS end

--- Called within a job: let others have their turn.
function M.rest() coroutine.yield() end

--- Called within a job, before work that cannot be divided: until the user rests.
function M.idle()
  local typed = vim.uv.now()
  vim.on_key(function() typed = vim.uv.now() end, ns)
  repeat
    coroutine.yield(IDLE_MS)
  until vim.uv.now() - typed >= IDLE_MS
  vim.on_key(nil, ns)
end

--- Do a job after all others.
---@param job fun() calls `rest` whenever its slice is `over`
function M.add(job)
  queue[#queue + 1] = coroutine.create(job)
  if #queue == 1 then later(REST_MS) end
end

return M
