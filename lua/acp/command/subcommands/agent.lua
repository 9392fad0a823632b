--- Subcommands for agents and their options.
local spec, valid = require('acp.command.subcommands.spec'), require('acp.base.valid_names')

local notify, when_running = spec.notify, spec.when_running

--- Wrap a subcommand that changes the current session, so that a closed session is refused.
---@param fn fun(args: string[])
---@return fun(args: string[], opts: table)
local function when_open(fn)
  return when_running('no_session', function(args)
    local session = valid.session()
    if session and session.status == 'closed' then
      require('acp.base.notify').echo('info', require('acp.base.messages').session_closed)
    else
      fn(args)
    end
  end)
end

---@type table<string, acp.Subcommand>
local list = {}

list.agent = spec.one_of('agents', 'agent', function(args)
  if args[1] then
    require('acp.command.choose').use(args[1])
  else
    require('acp.command.choose').agent()
  end
end)

for _, verb in ipairs({ 'restart', 'stop' }) do
  list[verb] = spec.one_of('started', 'agent', function(args)
    -- A restart reopens the sessions of a host that has ended.
    local can_reopen = verb == 'restart' and require('acp.base.state').current()
    if can_reopen or require('acp.base.host').running() then
      notify(verb, { agent = args[1] })
    else
      require('acp.base.notify').echo('info', require('acp.base.messages').no_agent)
    end
  end)
end

local login = spec.shown(function(args) require('acp.command.choose').login(args[1]) end)
list.login = spec.one_of('auth_methods', 'way to log in', login)

list.logout = {
  run = when_running('no_agent', function() notify('logout') end),
}

local mode = when_open(function(args)
  if args[1] then
    notify('mode', { id = args[1] })
  else
    require('acp.command.choose').mode()
  end
end)
list.mode = spec.one_of('modes', 'mode', mode)

list.model = {
  max = 1,
  nouns = { 'model' },
  strict = true,
  values = function(args) return #args == 0 and valid.option_values(valid.model_option()) or {} end,
  run = when_open(function(args)
    local id = valid.model_option()
    if args[1] and #valid.option_values(id) > 0 then
      notify('option', { id = id, value = args[1] })
    else
      require('acp.command.choose').value(id)
    end
  end),
}

local option = when_open(function(args)
  local any = #valid.option_ids() > 0
  if any and args[2] then
    notify('option', { id = args[1], value = valid.option_value(args[1], args[2]) })
  elseif any and args[1] then
    require('acp.command.choose').value(args[1])
  else
    require('acp.command.choose').option()
  end
end)

list.option = {
  max = 2,
  nouns = { 'option', 'value' },
  strict = true,
  values = function(args)
    return args[1] and valid.option_values(args[1]) or valid.options_and_provider()
  end,
  run = function(args, opts)
    -- The provider is not an option of a session; it applies to new sessions.
    if args[1] == 'provider' and not valid.config_option('provider') then
      notify('provider', { id = args[2] })
    else
      option(args, opts)
    end
  end,
}

return list
