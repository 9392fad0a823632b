--- Subcommands for agents.
local subcommand, valid_names = require('acp.ui.subcommand'), require('acp.base.valid_names')

local notify, with_report = subcommand.notify, subcommand.with_report

---@type table<string, acp.Subcommand>
local M = {}

M.agent = subcommand.one_of('agents', 'agent', function(args)
  if args[1] then
    require('acp.features.agents.choice').use(args[1])
  else
    require('acp.features.agents.choice').choose()
  end
end)

for _, verb in ipairs({ 'restart', 'stop' }) do
  M[verb] = subcommand.one_of('started_agents', 'agent', function(args)
    -- A restart reopens the sessions of a host that has ended.
    local can_reopen = verb == 'restart' and require('acp.base.state').current()
    if can_reopen or require('acp.base.host').is_running() then
      notify(verb, { agent = args[1] })
    else
      require('acp.base.notify').show('info', 'no_agent')
    end
  end)
end

M.info = {
  run = with_report(
    function() notify('info', { version = require('acp.base.installation.version').line() }) end
  ),
}

M.log = {
  max = 2,
  paths = true,
  values = function(args, lead)
    if #args == 0 then return vim.list_extend({ 'save' }, valid_names.started_agents()) end
    return args[1] == 'save' and valid_names.files(lead) or {}
  end,
  run = with_report(function(args)
    if args[1] == 'save' then
      if not args[2] then
        require('acp.base.notify').show('error', 'log_save_needs_file')
      else
        notify('log_save', { file = subcommand.absolute(args[2]) })
      end
    elseif args[1] and not vim.tbl_contains(valid_names.started_agents(), args[1]) then
      local names = vim.list_extend({ 'save' }, valid_names.started_agents())
      local mistake =
        require('acp.base.text.nearest').message('argument of :Acp log', args[1], names)
      require('acp.base.notify').error(mistake)
    else
      notify('log', { agent = args[1] })
    end
  end),
}

return M
