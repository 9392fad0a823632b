--- `User` autocommands of the plugin (`:help acp-events`).
local M = {}

--- Return whether a handler's pattern may match an event. Plain names are compared; any other
--- pattern is assumed to match.
local function may_match(pattern, name) return pattern == name or pattern:find('[^%w_]') ~= nil end

--- Return whether an event has handlers. The check takes longer than firing one event without
--- handlers, but less time than firing many.
function M.has_listener(name)
  local handlers = vim.iter(vim.api.nvim_get_autocmds({ event = 'User' }))
  return handlers:any(function(handler) return may_match(handler.pattern, name) end)
end

--- Run the handlers of an event. An error in a handler is shown to the user and does not stop the
--- caller.
---@param data table
function M.fire(name, data)
  local opts = { pattern = name, data = data, modeline = false }
  local ok, err = pcall(vim.api.nvim_exec_autocmds, 'User', opts)
  if not ok then require('acp.base.notify').show('error', 'handler_failed', name, err) end
end

--- Event kinds in `fire_all`: the name of the event, then the keys of its data.
local SHAPES = {
  asked = { 'AcpPermission', 'id', 'tool_call', 'title', 'options' },
  done = { 'AcpPermissionDone', 'id', 'outcome', 'option' },
}

--- Cache of which events of a batch have handlers. A handler that has run may have added another
--- one, so after the first run every event is fired.
---@class acp.Audience
---@field ran boolean
---@field names table<string, boolean>

---@param audience acp.Audience
local function has_handlers(audience, name)
  if audience.ran then return true end
  if audience.names[name] == nil then audience.names[name] = M.has_listener(name) end
  audience.ran = audience.names[name]
  return audience.ran
end

---@param audience acp.Audience
---@param calls string[] id and status of each, one after the other
local function fire_calls(audience, n, calls)
  for i = 1, #calls, 2 do
    if not has_handlers(audience, 'AcpToolCall') then return end
    M.fire('AcpToolCall', { session = n, id = calls[i], status = calls[i + 1] })
  end
end

--- Fire the events of tool calls and permissions of one session, in order. There may be hundreds,
--- so tables are made only for events with handlers.
---@param values any[] flat: `'calls'` and a list, or a key of `SHAPES` and a value for each of its
--- keys; false means absent
---@param options acp.PermissionOption[][] options of the permissions, by their index in `values`
function M.fire_all(n, values, options)
  local audience = { ran = false, names = {} }
  local i = 1
  while i <= #values do
    local shape = SHAPES[values[i]]
    if not shape then
      fire_calls(audience, n, values[i + 1])
      i = i + 2
    else
      if has_handlers(audience, shape[1]) then
        local data = { session = n }
        for at = 2, #shape do
          data[shape[at]] = values[i + at - 1] or nil
        end
        data.options = options[data.options]
        M.fire(shape[1], data)
      end
      i = i + #shape
    end
  end
end

return M
