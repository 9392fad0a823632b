--- Handlers of extension requests and notifications from agents. Their methods start with `_`
--- (v1/extensibility).
local M = {}

local handlers = {} ---@type table<string, acp.ExtensionHandler>

--- Set or remove (nil) the handler of a method.
---@param handler acp.ExtensionHandler|nil
function M.on(name, handler)
  if type(name) ~= 'string' or name:sub(1, 1) ~= '_' then
    error(require('acp.base.messages').extension_name:format(tostring(name)), 0)
  elseif handler ~= nil and not vim.is_callable(handler) then
    error(require('acp.base.messages').extension_handler:format(name, type(handler)), 0)
  end
  handlers[name] = handler
  local host = require('acp.base.host')
  if host.is_running() then host.notify('extensions', { names = M.names() }) end
end

--- Return the sorted methods that have a handler.
---@return string[]
function M.names() return require('acp.base.sorted_keys')(handlers) end

--- Return an error in the host's format.
---@return { error: acp.ExtensionError }
local function refusal(err)
  if type(err) ~= 'table' then err = { message = tostring(err) } end
  local message = require('acp.base.text.error_message')(err.message or 'refused')
  return {
    error = { code = err.code or -32603, message = message:match('^[^\n]*'), data = err.data },
  }
end

--- Return an answer in the host's format. An empty Lua table becomes a JSON object.
local function answer(result, err)
  if result == nil and err ~= nil then return refusal(err) end
  local is_empty = result == nil or (type(result) == 'table' and next(result) == nil)
  return { result = is_empty and vim.empty_dict() or result }
end

--- Answer a request from an agent, at once or later with the verb `extension_reply`. Called by the
--- host.
---@param id integer identifies a later answer
---@param params any
---@param context acp.ExtensionContext
---@return table `{ result }`, `{ error }` or `{ later = true }`
function M.request(id, params, context)
  local handler = handlers[context.method]
  if not handler then
    return refusal({ code = -32601, message = 'method not found: ' .. context.method })
  end
  local ok, result, err = pcall(handler, params, context)
  if not ok then
    return refusal(result)
  elseif type(result) ~= 'function' then
    return answer(result, err)
  end
  local is_answered = false
  local started, why = pcall(result, function(later, later_err)
    if not is_answered then
      is_answered = true
      local args = answer(later, later_err)
      args.id = id
      require('acp.base.host').notify('extension_reply', args)
    end
  end)
  if not started then
    is_answered = true
    return refusal(why)
  end
  return { later = true }
end

--- Frame operation: pass a notification from an agent to its handler.
---@param params any
---@param context acp.ExtensionContext
function M.on_notification(params, context)
  local handler = handlers[context.method]
  if not handler then return end
  local ok, err = pcall(handler, params, context)
  if not ok then require('acp.base.notify').show('error', 'handler_failed', context.method, err) end
end

return M
