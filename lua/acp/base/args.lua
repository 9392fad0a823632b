--- Checks of arguments to the functions of `require('acp')`. A mistake is reported in one line.
local M = {}

local function describe(value)
  if type(value) == 'string' then
    return ("'%s'"):format(value)
  elseif value == vim.NIL then
    return 'vim.NIL'
  end
  local is_plain = type(value) == 'nil' or type(value) == 'number' or type(value) == 'boolean'
  return is_plain and tostring(value) or 'a ' .. type(value)
end

---@return fun(value: any): boolean
local function check_kind(kind)
  return function(value) return type(value) == kind end
end

---@param name string function
---@param what string argument or option
---@param should string kind that it should have
local function describe_mistake(name, what, should, value)
  return require('acp.base.messages').wrong_argument:format(name, what, should, describe(value))
end

--- Return whether a session exists or is being created. A prompt that has just opened a session
--- uses the next free number.
local function is_session(n)
  local state = require('acp.base.state')
  return state.session(n) ~= nil or n == state.next()
end

--- Options of `prompt()`: the expected kind in words, and its check.
---@type table<string, { [1]: string, [2]: fun(value: any): boolean }>
local options = {
  session = { 'a number', check_kind('number') },
  new = { 'true or false', check_kind('boolean') },
  agent = { 'a name', check_kind('string') },
  preset = { 'a name', check_kind('string') },
  attach = {
    'a list of paths',
    function(value)
      return type(value) == 'table'
        and vim.islist(value)
        and vim.iter(value):all(check_kind('string'))
    end,
  },
  meta = { 'a table', check_kind('table') },
}

--- Return the first mistake in the options of `prompt()`, or nil.
---@return string|nil mistake
local function mistake_in_options(opts)
  for name, value in pairs(opts) do
    local known = options[name]
    if not known then
      local names = require('acp.base.sorted_keys')(options)
      return require('acp.base.text.nearest').message('option of prompt()', tostring(name), names)
    elseif not known[2](value) then
      return describe_mistake('prompt', name, known[1], value)
    end
  end
  if opts.session and not is_session(opts.session) then
    return require('acp.base.messages').no_such_session:format(opts.session)
  end
  local session = opts.session and not opts.new and require('acp.base.state').session(opts.session)
  if session and opts.agent and session.agent ~= opts.agent then
    local message = require('acp.base.messages').session_of_another
    return message:format(opts.session, session.agent, opts.agent)
  end
  if session and opts.preset and session.preset ~= opts.preset then
    local message = require('acp.base.messages').session_of_another
    return message:format(opts.session, session.preset or session.agent, opts.preset)
  end
  local valid = require('acp.base.valid_names')
  if opts.preset and not vim.tbl_contains(valid.presets(), opts.preset) then
    return require('acp.base.text.nearest').message('preset', opts.preset, valid.presets())
  end
  if opts.agent and not vim.tbl_contains(valid.agents(), opts.agent) then
    local where = require('acp.base.messages').all_agents
    return require('acp.base.text.nearest').message('agent', opts.agent, valid.agents(), where)
  end
end

---@param words any
---@param opts any
---@return string|nil mistake
function M.prompt(words, opts)
  if type(words) ~= 'string' and type(words) ~= 'table' then
    return describe_mistake('prompt', 'the prompt', 'a text or a list of content blocks', words)
  elseif type(words) == 'table' and not vim.islist(words) and not words.type then
    return require('acp.base.messages').wrong_prompt
  elseif opts ~= nil and type(opts) ~= 'table' then
    return describe_mistake('prompt', 'opts', 'a table', opts)
  end
  return mistake_in_options(opts or {})
end

---@param session any
---@return string|nil mistake
function M.cancel(session)
  if session ~= nil and type(session) ~= 'number' then
    return describe_mistake('cancel', 'session', 'a number', session)
  elseif session and not is_session(session) then
    return require('acp.base.messages').no_such_session:format(session)
  end
end

---@param items any
---@return string|nil mistake
function M.attach(items)
  local function is_item(item) return type(item) == 'string' or type(item) == 'table' end
  local is_list = type(items) == 'table' and vim.islist(items)
  if not is_list or not vim.iter(items):all(is_item) then
    return describe_mistake('attach', 'items', 'a list of paths or { path, first, last }', items)
  end
end

---@param id any
---@param choice any
---@param content any
---@return string|nil mistake
function M.answer(id, choice, content)
  if type(id) ~= 'string' and type(id) ~= 'number' then
    return describe_mistake('answer', 'id', "a question's id", id)
  elseif choice ~= nil and type(choice) ~= 'string' then
    return describe_mistake('answer', 'choice', 'an optionId, or nil', choice)
  elseif content ~= nil and type(content) ~= 'table' then
    return describe_mistake('answer', 'content', 'a table', content)
  elseif not require('acp.base.host').is_running() then
    return require('acp.base.messages').no_question:format(id)
  end
end

--- Return whether the arguments of a public function are valid. If not, show the mistake.
---@param name 'prompt'|'cancel'|'attach'|'answer'
---@param ... any
---@return boolean
function M.check(name, ...)
  local mistake = M[name](...)
  if mistake then require('acp.base.notify').error(mistake) end
  return mistake == nil
end

return M
