--- `User` autocommands of the plugin (`:help acp-events`).
local M = {}

--- Whether a handler's pattern takes an event: plain names are compared, anything else may match.
local function takes(pattern, name) return pattern == name or pattern:find('[^%w_]') ~= nil end

--- Whether anybody listens. To look costs more than one event to nobody, and less than many.
function M.listened(name)
  local handlers = vim.iter(vim.api.nvim_get_autocmds({ event = 'User' }))
  return handlers:any(function(handler) return takes(handler.pattern, name) end)
end

--- Run the handlers of an event. The error of one is the user's to see, and must not lose what
--- comes after it.
---@param data table
function M.fire(name, data)
  local opts = { pattern = name, data = data, modeline = false }
  local ok, err = pcall(vim.api.nvim_exec_autocmds, 'User', opts)
  if not ok then
    require('acp.base.notify').echo(
      'error',
      require('acp.base.messages').handler_failed:format(name, err)
    )
  end
end

--- What stands behind the word for it in `fire_all`: its event and the keys of that.
local SHAPES = {
  asked = { 'AcpPermission', 'id', 'tool_call', 'title', 'options' },
  done = { 'AcpPermissionDone', 'id', 'outcome', 'option' },
}

--- Whether anybody hears an event of many. A handler that has run may have made another one, so
--- nobody is looked for any more from then on.
---@class acp.Audience
---@field ran boolean
---@field names table<string, boolean>

---@param audience acp.Audience
local function hears(audience, name)
  if audience.ran then return true end
  if audience.names[name] == nil then audience.names[name] = M.listened(name) end
  audience.ran = audience.names[name]
  return audience.ran
end

---@param audience acp.Audience
---@param calls string[] id and status of each, one after the other
local function fire_calls(audience, n, calls)
  for i = 1, #calls, 2 do
    if not hears(audience, 'AcpToolCall') then return end
    M.fire('AcpToolCall', { session = n, id = calls[i], status = calls[i + 1] })
  end
end

--- Events of tool calls and permissions of one session, in their order. There may be hundreds:
--- tables are made for those who listen.
---@param values any[] flat: `'calls'` and a list, or a word of `SHAPES` and a value for each key,
--- false where there is none
---@param options acp.PermissionOption[][] what permissions offer, by the number in `values`
function M.fire_all(n, values, options)
  local audience = { ran = false, names = {} }
  local i = 1
  while i <= #values do
    local shape = SHAPES[values[i]]
    if not shape then
      fire_calls(audience, n, values[i + 1])
      i = i + 2
    else
      if hears(audience, shape[1]) then
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
