--- Subcommands: what one looks at, and getting started.
local spec = require('acp.command.subcommands.spec')

local notify, known, absolute, when_running, shown =
  spec.notify, spec.known, spec.absolute, spec.when_running, spec.shown

---@type table<string, acp.Subcommand>
local list = {}

list.terminals = {
  run = when_running('no terminals', function()
    notify('terminals')
  end),
}

list.export = {
  max = 1,
  values = known('files'),
  run = when_running(
    'no session to export',
    shown(function(args)
      notify('export', { file = absolute(args[1]) })
    end)
  ),
}

list.info = {
  run = shown(function()
    notify('info')
  end),
}

list.log = {
  max = 2,
  values = function(args, lead)
    if #args == 0 then
      return vim.list_extend({ 'save' }, require('acp.base.valid_names').started())
    end
    return args[1] == 'save' and require('acp.base.valid_names').files(lead) or {}
  end,
  run = shown(function(args)
    if args[1] == 'save' then
      if not args[2] then
        require('acp.base.notify').error('log save needs a file')
      else
        notify('log_save', { file = absolute(args[2]) })
      end
    elseif args[1] and not vim.tbl_contains(require('acp.base.valid_names').started(), args[1]) then
      local names = vim.list_extend({ 'save' }, require('acp.base.valid_names').started())
      require('acp.base.notify').error(
        require('acp.base.nearest').message('argument of log', args[1], names)
      )
    else
      notify('log', { agent = args[1] })
    end
  end),
}

list.tutor = {
  run = function()
    require('acp.command.tutor').start()
  end,
}

list.install = {
  run = function()
    require('acp.base.install').run()
  end,
}

return list
