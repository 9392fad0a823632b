--- Subcommands: agents, and what they let one choose.
local spec = require('acp.command.subcommands.spec')

local notify, known, when_running = spec.notify, spec.known, spec.when_running

--- Nothing is set in a session that is closed.
---@param fn fun(args: string[])
---@return fun(args: string[], opts: table)
local function when_open(fn)
  return when_running('no session', function(args)
    local session = require('acp.base.valid_names').session()
    if session and session.status == 'closed' then
      require('acp.base.notify').echo(
        'info',
        'the session is closed, the next prompt opens a new one'
      )
    else
      fn(args)
    end
  end)
end

---@type table<string, acp.Subcommand>
local list = {}

list.agent = {
  max = 1,
  nouns = { 'agent' },
  values = known('agents'),
  strict = true,
  run = function(args)
    if args[1] then
      require('acp.command.choose').use(args[1])
    else
      require('acp.command.choose').agent()
    end
  end,
}

for _, verb in ipairs({ 'restart', 'stop' }) do
  list[verb] = {
    max = 1,
    nouns = { 'agent' },
    values = known('started'),
    strict = true,
    run = function(args)
      -- A host that has ended left sessions behind, which a restart reopens.
      local left = verb == 'restart' and require('acp.base.state').current()
      if left or require('acp.base.host').running() then
        notify(verb, { agent = args[1] })
      else
        require('acp.base.notify').echo('info', 'no agent is running')
      end
    end,
  }
end

list.login = {
  max = 1,
  nouns = { 'way to log in' },
  values = known('auth_methods'),
  strict = true,
  run = spec.shown(function(args)
    require('acp.command.choose').login(args[1])
  end),
}

list.logout = {
  run = when_running('no agent is running', function()
    notify('logout')
  end),
}

list.mode = {
  max = 1,
  nouns = { 'mode' },
  values = known('modes'),
  strict = true,
  run = when_open(function(args)
    if args[1] then
      notify('mode', { id = args[1] })
    else
      require('acp.command.choose').mode()
    end
  end),
}

list.model = {
  max = 1,
  nouns = { 'model' },
  strict = true,
  values = function(args)
    local valid = require('acp.base.valid_names')
    return #args == 0 and valid.option_values(valid.model_option()) or {}
  end,
  run = when_open(function(args)
    local valid = require('acp.base.valid_names')
    local id = valid.model_option()
    if args[1] and #valid.option_values(id) > 0 then
      notify('option', { id = id, value = args[1] })
    else
      require('acp.command.choose').value(id)
    end
  end),
}

list.option = {
  max = 2,
  nouns = { 'option', 'value' },
  strict = true,
  values = function(args)
    local valid = require('acp.base.valid_names')
    return #args == 0 and valid.option_ids() or valid.option_values(args[1])
  end,
  run = when_open(function(args)
    if #require('acp.base.valid_names').option_ids() == 0 then
      require('acp.command.choose').option()
    elseif args[2] then
      local value = require('acp.base.valid_names').option_value(args[1], args[2])
      notify('option', { id = args[1], value = value })
    elseif args[1] then
      require('acp.command.choose').value(args[1])
    else
      require('acp.command.choose').option()
    end
  end),
}

return list
