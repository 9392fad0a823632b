--- Listeners of the signals (`acp.base.signals`). Loaded by every way into the plugin:
--- commands, <Plug> maps, `require('acp')`, and the host's frames.
local on = require('acp.base.signals').on

--- Signal -> module and function, loaded when it is first given.
for name, call in pairs({
  host_gone = { 'acp.command.session_restore', 'host_gone' },
  chat_replaced = { 'acp.ui.composer_swap', 'changed' },
  chat_opened = { 'acp.ui.composer_swap', 'opened' },
  draft_changed = { 'acp.command.drafts', 'changed' },
  draft_goes = { 'acp.command.drafts', 'soon' },
  composer_opens = { 'acp.command.drafts', 'recall' },
  attached = { 'acp.ui.composer', 'decorate' },
  prompt_comes_back = { 'acp.ui.composer', 'give_back' },
}) do
  on(name, function(...) return require(call[1])[call[2]](...) end)
end

on('key_pressed', function(window, action, ...)
  local actions = require('acp.command.actions').list[window]
  actions[action](...)
end)

on('setup', function(args)
  local extensions = package.loaded['acp.base.extensions']
  args.extensions = extensions and extensions.names() or {}
end)

on('host_starts', function(args) args.past = require('acp.command.session_restore').left() end)

on('hunks_told', function(path, bufnr, hunks)
  local review = package.loaded['acp.review']
  if review then review.told(path, bufnr, hunks) end
end)

on('options_changed', function()
  -- What is on the screen already is as the options say now.
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
  local what = #mistakes == 1 and '1 mistake' or #mistakes .. ' mistakes'
  local summary = what .. ' in setup(), see :checkhealth acp'
  require('acp.base.notify').list('warn', summary, mistakes)
end)
