--- Listeners of the signals (`acp.base.signals`). Every entry point loads this file: commands,
--- <Plug> maps, `require('acp')` and the host's frames.
local on = require('acp.base.signals').on

--- Signal -> module and function. A module is loaded by its first signal.
for name, call in pairs({
  chat_replaced = { 'acp.features.prompts.composer.swap', 'changed' },
  chat_opened = { 'acp.features.prompts.composer.swap', 'opened' },
  draft_changed = { 'acp.features.prompts.drafts', 'changed' },
  composer_opens = { 'acp.features.prompts.drafts', 'recall' },
  attached = { 'acp.features.prompts.composer', 'decorate' },
  prompt_comes_back = { 'acp.features.prompts.composer', 'give_back' },
}) do
  on(name, function(...) return require(call[1])[call[2]](...) end)
end

on('host_gone', function(message)
  for module, name in pairs({
    ['acp.base.host.async_calls'] = 'host_gone',
    ['acp.features.extensions.requests'] = 'host_gone',
    ['acp.buffers.language.hidden'] = 'let_go',
  }) do
    if package.loaded[module] then package.loaded[module][name]() end
  end
  require('acp.features.sessions.restore').host_gone(message)
end)

--- Save drafts soon. Loading the module is scheduled so that it does not delay the first prompt;
--- VimLeavePre covers an exit before that.
on('draft_goes', function()
  if package.loaded['acp.features.prompts.drafts'] then
    return require('acp.features.prompts.drafts').soon()
  end
  vim.schedule(function() require('acp.features.prompts.drafts').soon() end)
  vim.api.nvim_create_autocmd('VimLeavePre', {
    group = vim.api.nvim_create_augroup('acp.wiring', {}),
    callback = function()
      if not package.loaded['acp.features.prompts.drafts'] then
        require('acp.features.prompts.drafts').leave()
      end
    end,
  })
end)

on('key_pressed', function(window, action, ...)
  local actions = require('acp.command.actions').list[window]
  actions[action](...)
end)

on('setup', function(args)
  local extensions = package.loaded['acp.features.extensions.handlers']
  args.extensions = extensions and extensions.names() or {}
  require('acp.features.tools.packs').watch()
  local user_tools = package.loaded['acp.features.tools.user_tools']
  args.user_tools = user_tools and user_tools.for_host() or {}
  local tutor = args.agents.tutor
  local taught = args.agent == 'tutor' or package.loaded['acp.features.tutor.keys']
  if tutor and not tutor.command and taught then
    local about = { keys = require('acp.features.tutor.keys').keys() }
    tutor.meta = vim.tbl_extend('keep', tutor.meta or {}, { ['acp.nvim'] = about })
  end
end)

on('host_starts', function(args) args.past = require('acp.features.sessions.restore').left() end)

on('verb_goes', function()
  local watch = package.loaded['acp.buffers.watch']
  if watch then watch.flush_all() end
end)

on('hunks_changed', function(path, bufnr, hunks)
  local review = package.loaded['acp.features.review.actions']
  if review then review.hunks_changed(path, bufnr, hunks) end
end)

on('lines_shown', function(...)
  require('acp.ui.highlights').define()
  require('acp.features.follow.window').show(...)
end)

on('options_changed', function()
  -- Update everything on the screen to the new options.
  for module, name in pairs({
    ['acp.ui.keymaps'] = 'refresh',
    ['acp.features.review.inline'] = 'redraw',
    ['acp.features.chat.bar'] = 'update',
    ['acp.base.host'] = 'setup',
  }) do
    if package.loaded[module] then package.loaded[module][name]() end
  end
  local keymaps = require('acp.config').get().keymaps
  if package.loaded['acp.ui.preset'] or (keymaps and keymaps.preset) then
    require('acp.ui.preset').refresh()
  end
end)

on('options_wrong', function(mistakes)
  local messages = require('acp.base.messages')
  local summary = #mistakes == 1 and messages.one_mistake or messages.mistakes:format(#mistakes)
  require('acp.base.notify').list('warn', summary, mistakes)
end)
