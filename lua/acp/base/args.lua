--- Arguments of functions of `require('acp')`: what is wrong with one is one line to the user.
local M = {}

---@param value any
---@return string
local function called(value)
  if type(value) == 'string' then
    return ("'%s'"):format(value)
  elseif value == vim.NIL then
    return 'vim.NIL'
  end
  local plain = type(value) == 'nil' or type(value) == 'number' or type(value) == 'boolean'
  return plain and tostring(value) or 'a ' .. type(value)
end

---@param value any
---@param kinds string[]
---@return boolean
local function is(value, kinds)
  return vim.tbl_contains(kinds, type(value))
end

---@param name string of the function
---@param what string
---@param should string
---@param value any
---@return string
local function wrong(name, what, should, value)
  return ('%s: %s is %s, not %s'):format(name, what, should, called(value))
end

--- Whether there is such a session. The next number may be that of one which a prompt has begun.
---@param n integer
---@return boolean
local function begun(n)
  local state = require('acp.base.state')
  return state.session(n) ~= nil or n == state.next()
end

--- What an option of `prompt()` is, in words, and how that is told.
---@type table<string, { [1]: string, [2]: fun(value: any): boolean }>
local options = {
  session = {
    'a number',
    function(value)
      return is(value, { 'number' })
    end,
  },
  new = {
    'true or false',
    function(value)
      return is(value, { 'boolean' })
    end,
  },
  agent = {
    'a name',
    function(value)
      return is(value, { 'string' })
    end,
  },
  attach = {
    'a list of paths',
    function(value)
      return is(value, { 'table' })
        and vim.islist(value)
        and vim.iter(value):all(function(path)
          return is(path, { 'string' })
        end)
    end,
  },
  meta = {
    'a table',
    function(value)
      return is(value, { 'table' })
    end,
  },
}

---@param opts table
---@return string|nil mistake
local function options_of_prompt(opts)
  local names = vim.tbl_keys(options)
  table.sort(names)
  for name, value in pairs(opts) do
    local known = options[name]
    if not known then
      return 'prompt: ' .. require('acp.base.nearest').message('option', tostring(name), names)
    elseif not known[2](value) then
      return wrong('prompt', name, known[1], value)
    end
  end
  if opts.session and not begun(opts.session) then
    return ('no session %s'):format(opts.session)
  end
  local session = opts.session and not opts.new and require('acp.base.state').session(opts.session)
  if session and opts.agent and session.agent ~= opts.agent then
    return ('session %s is one of %s, not of %s'):format(opts.session, session.agent, opts.agent)
  end
  local agents = require('acp.base.valid_names').agents()
  if opts.agent and not vim.tbl_contains(agents, opts.agent) then
    return require('acp.base.nearest').message('agent', opts.agent, agents)
  end
end

--- What is wrong with the arguments of `prompt()`.
---@param words any
---@param opts any
---@return string|nil mistake
function M.prompt(words, opts)
  if not is(words, { 'string', 'table' }) then
    return wrong('prompt', 'the prompt', 'a text or a list of content blocks', words)
  elseif type(words) == 'table' and not vim.islist(words) and not words.type then
    return 'prompt: the prompt is a text or a list of content blocks, not a table of names'
  elseif opts ~= nil and not is(opts, { 'table' }) then
    return wrong('prompt', 'opts', 'a table', opts)
  end
  return options_of_prompt(opts or {})
end

--- What is wrong with the argument of `cancel()`.
---@param session any
---@return string|nil mistake
function M.cancel(session)
  if session ~= nil and not is(session, { 'number' }) then
    return wrong('cancel', 'session', 'a number', session)
  elseif session and not begun(session) then
    return ('no session %s'):format(session)
  end
end

--- What is wrong with the arguments of `answer()`.
---@param id any
---@param choice any
---@param content any
---@return string|nil mistake
function M.answer(id, choice, content)
  if not is(id, { 'string', 'number' }) then
    return wrong('answer', 'id', "a decision's id", id)
  elseif choice ~= nil and not is(choice, { 'string' }) then
    return wrong('answer', 'choice', 'an optionId, or nil', choice)
  elseif content ~= nil and not is(content, { 'table' }) then
    return wrong('answer', 'content', 'a table', content)
  elseif not require('acp.base.host').running() then
    return ('no pending decision %s'):format(id)
  end
end

--- Say what is wrong, if anything is.
---@param name 'prompt'|'cancel'|'answer'
---@param ... any
---@return boolean good
function M.good(name, ...)
  local mistake = M[name](...)
  if mistake then
    require('acp.base.notify').error(mistake)
  end
  return mistake == nil
end

return M
