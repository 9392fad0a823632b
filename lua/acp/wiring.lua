--- Listeners of the signals (`acp.base.signals`). Every entry point loads this file: commands,
--- <Plug> maps, `require('acp')` and the host's frames.
local on = require('acp.base.signals').on

--- Signal -> module and function. A module is loaded by its first signal.
for name, call in pairs({
  chat_replaced = { 'acp.ui.composer_swap', 'changed' },
  chat_opened = { 'acp.ui.composer_swap', 'opened' },
  draft_changed = { 'acp.command.drafts', 'changed' },
  composer_opens = { 'acp.command.drafts', 'recall' },
  attached = { 'acp.ui.composer', 'decorate' },
  prompt_comes_back = { 'acp.ui.composer', 'give_back' },
}) do
  on(name, function(...) return require(call[1])[call[2]](...) end)
end

on('host_gone', function(message)
  for module, name in pairs({
    ['acp.base.async_calls'] = 'host_gone',
    ['acp.base.extension_requests'] = 'host_gone',
    ['acp.tools.hidden'] = 'let_go',
  }) do
    if package.loaded[module] then package.loaded[module][name]() end
  end
  require('acp.command.session_restore').host_gone(message)
end)

--- Save drafts soon. Loading the module is scheduled so that it does not delay the first prompt;
--- VimLeavePre covers an exit before that.
on('draft_goes', function()
  if package.loaded['acp.command.drafts'] then return require('acp.command.drafts').soon() end
  vim.schedule(function() require('acp.command.drafts').soon() end)
  vim.api.nvim_create_autocmd('VimLeavePre', {
    group = vim.api.nvim_create_augroup('acp.wiring', {}),
    callback = function()
      if not package.loaded['acp.command.drafts'] then require('acp.command.drafts').leave() end
    end,
  })
end)

on('key_pressed', function(window, action, ...)
  local actions = require('acp.command.actions').list[window]
  actions[action](...)
end)

on('setup', function(args)
  local extensions = package.loaded['acp.base.extensions']
  args.extensions = extensions and extensions.names() or {}
  require('acp.tools.packs').watch()
  local user_tools = package.loaded['acp.tools.user_tools']
  args.user_tools = user_tools and user_tools.for_host() or {}
  local tutor = args.agents.tutor
  local taught = args.agent == 'tutor' or package.loaded['acp.command.tutor_keys']
  if tutor and not tutor.command and taught then
    local about = { keys = require('acp.command.tutor_keys').keys() }
    tutor.meta = vim.tbl_extend('keep', tutor.meta or {}, { ['acp.nvim'] = about })
  end
end)

on('host_starts', function(args) args.past = require('acp.command.session_restore').left() end)

on('verb_goes', function()
  local watch = package.loaded['acp.buffers.watch']
  if watch then watch.flush_all() end
end)

on('hunks_changed', function(path, bufnr, hunks)
  local review = package.loaded['acp.review']
  if review then review.hunks_changed(path, bufnr, hunks) end
end)

on('lines_shown', function(...)
  require('acp.ui.highlights').define()
  require('acp.ui.follow').show(...)
end)

on('options_changed', function()
  -- Update everything on the screen to the new options.
  for module, name in pairs({
    ['acp.ui.keymaps'] = 'refresh',
    ['acp.review.inline'] = 'redraw',
    ['acp.ui.chat.bar'] = 'update',
    ['acp.base.host'] = 'setup',
  }) do
    if package.loaded[module] then package.loaded[module][name]() end
  end
  local keymaps = require('acp.config').get().keymaps
  if package.loaded['acp.command.preset'] or (keymaps and keymaps.preset) then
    require('acp.command.preset').refresh()
  end
end)

on('options_wrong', function(mistakes)
  local messages = require('acp.base.messages')
  local summary = #mistakes == 1 and messages.one_mistake or messages.mistakes:format(#mistakes)
  require('acp.base.notify').list('warn', summary, mistakes)
end)
