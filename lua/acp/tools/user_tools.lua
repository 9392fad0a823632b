--- The user's own tools for agents (`require('acp').tool()`): what they say of them, and calls.
local M = {}

--- The longest text of a result in bytes; the host takes 2^20 characters.
local LONGEST = 2 ^ 20 - 200
--- The longest error in bytes.
local ERROR = 4000
--- How deep a schema may be nested.
local DEPTH = 50
local WORDLESS = 'it failed and did not say why'

--- A tool as it is kept; `schema` is JSON.
---@class acp.UserTool
---@field description string
---@field schema string
---@field write boolean
---@field run acp.ToolFunction
---@field executes? boolean it runs code: the question is of kind `execute`
---@field title? string two words for the chat; of ours alone
---@field pack? boolean it is ours: what it gives is `{ text, data }`

--- A tool of a pack (`acp.tools.packs`).
---@class acp.PackTool
---@field title string
---@field description string
---@field schema table
---@field write? boolean
---@field executes? boolean it runs code: the question is of kind `execute`
---@field run acp.ToolFunction

local tools = {} ---@type table<string, acp.UserTool>

--- The members of a spec: what each should be, in words, and its check.
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
      local object = kind == nil or kind == 'object'
      return value == nil or (object and (next(value) == nil or not vim.islist(value)))
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
    return messages.tool_name_ours:format(name)
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
      return require('acp.base.nearest').message('member of a tool', tostring(key), known)
    end
  end
  for _, key in ipairs(known) do
    local value = spec[key]
    if not members[key][2](value) then
      local found = type(value) == 'string' and ("'%s'"):format(value) or type(value)
      return messages.tool_member:format(name, key, members[key][1], found)
    end
  end
end

--- Whether a table, which has no circles, is nested deeper than that.
local function is_deeper(value, depth)
  if type(value) ~= 'table' then return false end
  if depth == 0 then return true end
  return vim.iter(pairs(value)):any(function(_, inner) return is_deeper(inner, depth - 1) end)
end

--- A schema as JSON. Errors say what is wrong.
---@param name string
---@param schema table|nil
---@return string
local function encoded(name, schema)
  if schema == nil then return '{}' end
  local ok, json = pcall(vim.json.encode, schema)
  if ok and is_deeper(schema, DEPTH) then
    ok, json = false, require('acp.base.messages').why_nested:format(DEPTH)
  end
  if not ok then error(require('acp.base.messages').tool_schema:format(name, json), 0) end
  return json
end

--- A tool as it is kept.
---@param spec acp.ToolSpec|acp.PackTool
local function kept(name, spec)
  return {
    description = spec.description,
    schema = encoded(name, spec.schema),
    write = spec.write == true,
    run = spec.run,
  }
end

local function tell()
  local host = require('acp.base.host')
  if host.running() then host.notify('user_tools', { tools = M.told() }) end
end

--- Put or take away (nil) the tool of a name. Errors say what is wrong.
---@param name string
---@param spec acp.ToolSpec|nil
function M.put(name, spec)
  local mistake = wrong_name(name) or (spec ~= nil and wrong_spec(name, spec) or nil)
  if mistake then error(mistake, 0) end
  tools[name] = spec and kept(name, spec)
  tell()
end

--- Put tools of ours that need a plugin.
---@param pack table<string, acp.PackTool>
function M.offer(pack)
  for name, spec in pairs(pack) do
    local ours = { title = spec.title, executes = spec.executes, pack = true }
    tools[name] = vim.tbl_extend('error', kept(name, spec), ours)
  end
  tell()
end

--- All tools as the host is told of them.
---@return table[]
function M.told()
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

--- A text that is not too long. A character that is cut in two is left out.
---@param text string
local function cut(text)
  if #text <= LONGEST then return text end
  local last = LONGEST + vim.str_utf_start(text, LONGEST + 1)
  local more = '%s\n… %d more bytes are left out; ask for a part'
  return more:format(text:sub(1, last), #text - last)
end

--- The same of a tool of ours: a text, and the same as JSON where that is not too long.
---@param value { text: string, data: table }
local function shaped_pack(value)
  local json = vim.json.encode(value.data)
  return { text = cut(value.text), json = #json <= LONGEST and json or nil }
end

--- A value as the host takes it: a text, or JSON of a table. Errors where it cannot be sent.
local function shaped(value)
  if value == nil or value == vim.NIL then return { text = 'done' } end
  if type(value) == 'string' then return { text = cut(value) } end
  local ok, json = pcall(vim.json.encode, value)
  if not ok then error('the result cannot be sent: ' .. json, 0) end
  if type(value) ~= 'table' or #json > LONGEST then return { text = cut(json) } end
  return { json = json }
end

--- An error in words: of one that Lua raised with a text, without the place.
local function why(err)
  if type(err) == 'table' and err.message ~= nil then err = err.message end
  if type(err) == 'table' then err = vim.inspect(err) end
  return (tostring(err):sub(1, ERROR):gsub('^[^\n]-:%d+: ', ''))
end

--- What a tool answers with: the first time counts.
---@param reply acp.Reply
---@param shape fun(value: any): table
---@return acp.Reply
local function once(reply, shape)
  local answered = false
  return function(value, err)
    if answered then return end
    answered = true
    if (value == nil or value == vim.NIL) and err ~= nil and err ~= vim.NIL then
      return reply(nil, why(err))
    end
    local ok, told = pcall(shape, value)
    if ok then return reply(told) end
    reply(nil, why(told))
  end
end

--- What ends a call that nobody waits for any more.
---@param name string
---@param cancel fun()
local function ending(name, cancel)
  return function()
    local ok, err = pcall(cancel)
    if not ok then
      local message = require('acp.base.messages').handler_failed:format(name, why(err))
      require('acp.base.notify').echo('error', message)
    end
  end
end

--- Call a tool; returns what cancels it, if it said so.
---@param reply acp.Reply
---@param name string
---@param arguments string a JSON object
---@param ctx acp.ToolContext
---@return fun()|nil cancel
function M.run(reply, name, arguments, ctx)
  local tool = tools[name]
  local answer = once(reply, tool and tool.pack and shaped_pack or shaped)
  if not tool then return answer(nil, 'there is no such tool any more') end
  local args = vim.json.decode(arguments, { luanil = { object = true } })
  local ok, result, err = pcall(tool.run, args, ctx)
  if not ok then
    return answer(nil, result or WORDLESS)
  elseif not vim.is_callable(result) then
    return answer(result, err)
  end
  local started, cancel = pcall(result, answer)
  if not started then return answer(nil, cancel or WORDLESS) end
  if vim.is_callable(cancel) then return ending(name, cancel) end
end

return M
