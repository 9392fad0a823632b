--- The user's own tools for agents (`require('acp').tool()`): registration and calls.
local M = {}

--- Longest text of a result in bytes. The host accepts 2^20 characters.
local MAX_BYTES = 2 ^ 20 - 200
--- Longest error in bytes.
local MAX_ERROR_BYTES = 4000
--- Deepest nesting of a schema.
local MAX_DEPTH = 50
local NO_REASON = 'it failed and did not say why'

--- A registered tool. `schema` is JSON.
---@class acp.UserTool
---@field description string
---@field schema string
---@field write boolean
---@field run acp.ToolFunction
---@field executes? boolean it runs code, so the permission has kind `execute`
---@field title? string short title for the chat, only for tools of a pack
---@field pack? boolean it belongs to a pack, so its result is `{ text, data }`

--- A tool of a pack (`acp.features.tools.packs`).
---@class acp.PackTool
---@field title string
---@field description string
---@field schema table
---@field write? boolean
---@field executes? boolean it runs code, so the permission has kind `execute`
---@field run acp.ToolFunction

local tools = {} ---@type table<string, acp.UserTool>

--- The members of a spec: the expected kind in words, and its check.
---@type table<string, { [1]: string, [2]: fun(value: any): boolean }>
local members = {
  description = {
    'a text',
    function(value) return type(value) == 'string' and value:find('%S') ~= nil end,
  },
  schema = {
    "a table, a JSON schema of type 'object'",
    function(value)
      local kind = type(value) == 'table' and value.type
      local is_object = kind == nil or kind == 'object'
      return value == nil or (is_object and (next(value) == nil or not vim.islist(value)))
    end,
  },
  write = {
    'true or false',
    function(value) return value == nil or type(value) == 'boolean' end,
  },
  run = { 'a function', vim.is_callable },
}

---@param name any
---@return string|nil mistake
local function wrong_name(name)
  local messages = require('acp.base.messages')
  if type(name) ~= 'string' or #name > 64 or not name:find('^[%w_-]+$') then
    return messages.tool_name:format(tostring(name))
  elseif vim.startswith(name, 'nvim_') then
    return messages.tool_name_reserved:format(name)
  end
end

---@param name string
---@param spec any
---@return string|nil mistake
local function wrong_spec(name, spec)
  local messages = require('acp.base.messages')
  if type(spec) ~= 'table' then return messages.tool_spec:format(name, type(spec)) end
  local known = require('acp.base.sorted_keys')(members)
  for key in pairs(spec) do
    if not members[key] then
      return require('acp.base.text.nearest').message('member of a tool', tostring(key), known)
    end
  end
  for _, key in ipairs(known) do
    local value = spec[key]
    if not members[key][2](value) then
      local shown = type(value) == 'string' and ("'%s'"):format(value) or type(value)
      return messages.tool_member:format(name, key, members[key][1], shown)
    end
  end
end

--- Return whether a table without cycles is nested deeper than `depth`.
local function is_deeper(value, depth)
  if type(value) ~= 'table' then return false end
  if depth == 0 then return true end
  return vim.iter(pairs(value)):any(function(_, inner) return is_deeper(inner, depth - 1) end)
end

--- Encode a schema as JSON. Raise an error with the reason if that fails.
---@param name string
---@param schema table|nil
---@return string
local function encode_schema(name, schema)
  if schema == nil then return '{}' end
  local ok, json = pcall(vim.json.encode, schema)
  if ok and is_deeper(schema, MAX_DEPTH) then
    ok, json = false, require('acp.base.messages').why_nested:format(MAX_DEPTH)
  end
  if not ok then error(require('acp.base.messages').tool_schema:format(name, json), 0) end
  return json
end

--- Convert a spec to a registered tool.
---@param spec acp.ToolSpec|acp.PackTool
local function to_registered(name, spec)
  return {
    description = spec.description,
    schema = encode_schema(name, spec.schema),
    write = spec.write == true,
    run = spec.run,
  }
end

local function send_tools()
  local host = require('acp.base.host')
  if host.is_running() then host.notify('user_tools', { tools = M.for_host() }) end
end

--- Add, replace or remove (nil) a tool. Raise an error with the reason if the spec is wrong.
---@param name string
---@param spec acp.ToolSpec|nil
function M.register(name, spec)
  local mistake = wrong_name(name) or (spec ~= nil and wrong_spec(name, spec) or nil)
  if mistake then error(mistake, 0) end
  tools[name] = spec and to_registered(name, spec)
  send_tools()
end

---@param pack table<string, acp.PackTool>
function M.register_pack(pack)
  for name, spec in pairs(pack) do
    local extra = { title = spec.title, executes = spec.executes, pack = true }
    tools[name] = vim.tbl_extend('error', to_registered(name, spec), extra)
  end
  send_tools()
end

--- Return all tools in the host's format.
---@return table[]
function M.for_host()
  return vim.tbl_map(function(name)
    local tool = tools[name]
    return {
      name = name,
      description = tool.description,
      schema = tool.schema,
      write = tool.write,
      executes = tool.executes,
      title = tool.title,
    }
  end, require('acp.base.sorted_keys')(tools))
end

--- Truncate a text to `MAX_BYTES`, without splitting a character.
---@param text string
local function cut(text)
  if #text <= MAX_BYTES then return text end
  local last = MAX_BYTES + vim.str_utf_start(text, MAX_BYTES + 1)
  local more = '%s\n… %d more bytes are left out; ask for a part'
  return more:format(text:sub(1, last), #text - last)
end

--- Convert the result of a pack's tool to the host's format: a text, and the data as JSON if that
--- is not too long.
---@param value { text: string, data: table }
local function encode_pack_result(value)
  local json = vim.json.encode(value.data)
  return { text = cut(value.text), json = #json <= MAX_BYTES and json or nil }
end

--- Convert a result to the host's format: a text, or JSON for a table. Raise an error if it cannot
--- be encoded.
local function encode_result(value)
  if value == nil or value == vim.NIL then return { text = 'done' } end
  if type(value) == 'string' then return { text = cut(value) } end
  local ok, json = pcall(vim.json.encode, value)
  if not ok then error('the result cannot be sent: ' .. json, 0) end
  if type(value) ~= 'table' or #json > MAX_BYTES then return { text = cut(json) } end
  return { json = json }
end

--- Return the message of an error, without the location that Lua adds to a text.
local function message_of(err)
  if type(err) == 'table' and err.message ~= nil then err = err.message end
  if type(err) == 'table' then err = vim.inspect(err) end
  return require('acp.base.text.error_message')(tostring(err):sub(1, MAX_ERROR_BYTES))
end

--- Wrap the reply of a tool. Only its first call has an effect.
---@param reply acp.Reply
---@param encode fun(value: any): table
---@return acp.Reply
local function reply_once(reply, encode)
  local is_answered = false
  return function(value, err)
    if is_answered then return end
    is_answered = true
    if (value == nil or value == vim.NIL) and err ~= nil and err ~= vim.NIL then
      return reply(nil, message_of(err))
    end
    local ok, result = pcall(encode, value)
    if ok then return reply(result) end
    reply(nil, message_of(result))
  end
end

--- Wrap the cancel function of a tool so that its errors are reported.
---@param name string
---@param cancel fun()
local function reported_cancel(name, cancel)
  return function()
    local ok, err = pcall(cancel)
    if not ok then
      require('acp.base.notify').show('error', 'handler_failed', name, message_of(err))
    end
  end
end

--- Call a tool. Return a function that cancels the call, if the tool returned one.
---@param reply acp.Reply
---@param name string
---@param arguments string a JSON object
---@param ctx acp.ToolContext
---@return fun()|nil cancel
function M.run(reply, name, arguments, ctx)
  local tool = tools[name]
  local answer = reply_once(reply, tool and tool.pack and encode_pack_result or encode_result)
  if not tool then return answer(nil, 'there is no such tool any more') end
  local args = vim.json.decode(arguments, { luanil = { object = true } })
  local ok, result, err = pcall(tool.run, args, ctx)
  if not ok then
    return answer(nil, result or NO_REASON)
  elseif not vim.is_callable(result) then
    return answer(result, err)
  end
  local started, cancel = pcall(result, answer)
  if not started then return answer(nil, cancel or NO_REASON) end
  if vim.is_callable(cancel) then return reported_cancel(name, cancel) end
end

return M
