--- Extension requests from the user to agents. Their methods start with `_` (v1/extensibility).
local M = {}

---@alias acp.ExtensionAnswer fun(result: any, err?: acp.ExtensionError)

local waiting = {} ---@type table<integer, { method: string, answer: acp.ExtensionAnswer }>
local last = 0

---@class acp.RequestOpts
---@field session? integer the session whose agent to ask; the current one by default
---@field agent? string the name of the agent to ask, regardless of sessions

--- Pass the outcome of a request to its callback, once.
---@param id integer
---@param result any
---@param err acp.ExtensionError|nil
local function finish(id, result, err)
  local request = waiting[id]
  waiting[id] = nil
  if not request then return end
  local ok, why = pcall(request.answer, result, err)
  if not ok then require('acp.base.notify').show('error', 'handler_failed', request.method, why) end
end

--- Fail a request because the host is not running.
---@param id integer
local function fail(id)
  finish(id, nil, { code = -32603, message = require('acp.base.messages').why_no_host })
end

--- Send a request to an agent. `answer` is called once, later: with the result, or with nil and an
--- error.
---@param method string
---@param params any
---@param answer acp.ExtensionAnswer
---@param opts? acp.RequestOpts
function M.send(method, params, answer, opts)
  local messages = require('acp.base.messages')
  if type(method) ~= 'string' or method:sub(1, 1) ~= '_' then
    error(messages.extension_name:format(tostring(method)), 0)
  elseif not vim.is_callable(answer) then
    error(messages.extension_handler:format(method, type(answer)), 0)
  end
  opts = opts or {}
  last = last + 1
  waiting[last] = { method = method, answer = answer }
  local is_empty = params == nil or (type(params) == 'table' and next(params) == nil)
  local sent = require('acp.base.host').notify('extension_request', {
    id = last,
    method = method,
    params = is_empty and vim.empty_dict() or params,
    session = opts.session,
    agent = opts.agent,
  })
  if not sent then
    local id = last
    vim.schedule(function() fail(id) end)
  end
end

--- Frame operation: pass the outcome of a request to its callback.
---@param id integer
---@param outcome { result: any, error: acp.ExtensionError|nil }
function M.on_answer(id, outcome) finish(id, outcome.result, outcome.error) end

--- Fail all requests because the host has exited.
function M.on_host_exit()
  for _, id in ipairs(require('acp.base.sorted_keys')(waiting)) do
    fail(id)
  end
end

return M
