--- Subcommands for sessions and their options.
local subcommand, valid_names = require('acp.ui.subcommand'), require('acp.base.valid_names')

local notify = subcommand.notify

--- Wrap a subcommand that changes the current session, so that a closed session is refused.
---@param fn fun(args: string[])
---@return fun(args: string[], opts: table)
local function when_open(fn)
  return subcommand.when_running('no_session', function(args)
    local session = valid_names.session()
    if session and session.status == 'closed' then
      require('acp.base.notify').show('info', 'session_closed')
    else
      fn(args)
    end
  end)
end

---@type table<string, acp.Subcommand>
local M = {}

M.new = subcommand.one_of('agents_and_presets', 'agent or preset', function(args, opts)
  local cwd = require('acp.base.places').cwd_or_error()
  if not cwd then return end
  local verb = opts.bang and 'new_worktree' or 'new'
  notify(verb, { name = args[1], cwd = cwd, instead = require('acp.ui.current').here() })
end)
M.new.bang, M.new.list = true, 'agent'

--- Actions of `:Acp sessions`. Not every agent supports all of them.
local ACTIONS = vim.split('open load resume fork rename close delete archive unarchive', ' ')

M.sessions = {
  max = 1,
  values = subcommand.first_argument(ACTIONS),
  strict = true,
  run = function(args)
    local cwd = require('acp.base.places').cwd_or_error()
    if cwd then notify('sessions', { cwd = cwd, action = args[1] }) end
  end,
}

local mode = when_open(function(args)
  if args[1] and #valid_names.modes() > 0 then
    notify('mode', { id = args[1] })
  else
    require('acp.features.sessions.options').mode()
  end
end)
M.mode = subcommand.one_of('modes', 'mode', mode)

M.model = {
  max = 1,
  nouns = { 'model' },
  strict = true,
  values = function(args)
    return #args == 0 and valid_names.option_values(valid_names.model_option()) or {}
  end,
  run = when_open(function(args)
    local id = valid_names.model_option()
    if args[1] and #valid_names.option_values(id) > 0 then
      notify('option', { id = id, value = args[1] })
    else
      require('acp.features.sessions.options').value(id)
    end
  end),
}

local option = when_open(function(args)
  local has_any = #valid_names.option_ids() > 0
  if has_any and args[2] then
    notify('option', { id = args[1], value = valid_names.option_value(args[1], args[2]) })
  elseif has_any and args[1] then
    require('acp.features.sessions.options').value(args[1])
  else
    require('acp.features.sessions.options').option()
  end
end)

M.option = {
  max = 2,
  nouns = { 'option', 'value' },
  strict = true,
  values = function(args)
    return args[1] and valid_names.option_values(args[1]) or valid_names.options_and_provider()
  end,
  run = function(args, opts)
    -- The provider is not an option of a session; it applies to new sessions.
    if args[1] == 'provider' and not valid_names.config_option('provider') then
      notify('provider', { id = args[2] })
    else
      option(args, opts)
    end
  end,
}

return M
