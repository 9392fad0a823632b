--- Subcommands for views, the tutor and the installation.
local spec, valid_names = require('acp.command.subcommands.spec'), require('acp.base.valid_names')

local notify, absolute, shown = spec.notify, spec.absolute, spec.shown

---@type table<string, acp.Subcommand>
local list = {}

list.terminals = {
  run = spec.when_running('no_terminals', function() notify('terminals') end),
}

list.export = {
  max = 1,
  paths = true,
  values = spec.known('files'),
  run = spec.when_running(
    'no_session',
    shown(function(args) notify('export', { file = absolute(args[1]) }) end)
  ),
}

list.blame = {
  max = 2,
  paths = true,
  values = function(args, lead)
    if #args == 0 then return { 'export' } end
    return args[1] == 'export' and valid_names.files(lead) or {}
  end,
  run = shown(function(args)
    local blame, bufnr = require('acp.features.blame.view'), vim.api.nvim_get_current_buf()
    if not require('acp.config').get().blame and not blame.shows(bufnr) then
      require('acp.base.notify').echo('info', require('acp.base.messages').blame_off)
    elseif not args[1] then
      blame.toggle(bufnr)
    elseif args[1] == 'export' then
      local cwd = require('acp.base.places').cwd()
      notify('blame_export', { file = absolute(args[2]), cwd = cwd })
    else
      local names = { 'export' }
      local mistake = require('acp.base.nearest').message('argument of :Acp blame', args[1], names)
      require('acp.base.notify').error(mistake)
    end
  end),
}

list.history = {
  max = -1,
  values = spec.first({ 'stats' }),
  run = shown(function(args, opts)
    local cwd = require('acp.base.places').cwd()
    if #args == 1 and args[1] == 'stats' then
      notify('history_stats', { cwd = cwd })
    else
      notify('history', { words = vim.trim(opts.rest), cwd = cwd })
    end
  end),
}

list.info = {
  run = shown(function() notify('info') end),
}

list.log = {
  max = 2,
  paths = true,
  values = function(args, lead)
    if #args == 0 then return vim.list_extend({ 'save' }, valid_names.started()) end
    return args[1] == 'save' and valid_names.files(lead) or {}
  end,
  run = shown(function(args)
    if args[1] == 'save' then
      if not args[2] then
        require('acp.base.notify').error(require('acp.base.messages').log_save_needs_file)
      else
        notify('log_save', { file = absolute(args[2]) })
      end
    elseif args[1] and not vim.tbl_contains(valid_names.started(), args[1]) then
      local names = vim.list_extend({ 'save' }, valid_names.started())
      local mistake = require('acp.base.nearest').message('argument of :Acp log', args[1], names)
      require('acp.base.notify').error(mistake)
    else
      notify('log', { agent = args[1] })
    end
  end),
}

--- A tour with the embedded agent in a separate tab page, on a copy of a sample project.
--- `:tabclose` ends it.
list.tutor = {
  run = function()
    local directory = require('acp.features.tutor.sample_copy').directory()
    local file = vim.fn.fnameescape(vim.fs.joinpath(directory, 'till.py'))
    vim.cmd.tabedit({ file, mods = { noswapfile = true } }) -- another Neovim may have it open
    vim.cmd.tcd({ vim.fn.fnameescape(directory), mods = { silent = true } })
    require('acp.features.tutor.keys') -- the host needs the user's keys
    require('acp.base.host').setup()
    require('acp.features.prompts.delivery').write('/tour', { new = true, agent = 'tutor' })
  end,
}

list.install = {
  run = function() require('acp.features.install.environment').run() end,
}

return list
