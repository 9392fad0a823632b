--- Subcommands for the chat.
local subcommand = require('acp.ui.subcommand')

---@type table<string, acp.Subcommand>
local M = {}

M.chat = {
  run = function()
    local n, signals = require('acp.base.state').get().current, require('acp.base.signals')
    vim.schedule(function() signals.emit('drafts_wanted') end)
    if n then
      require('acp.features.chat.view').toggle(n)
    elseif not signals.emit('chat_missing') then
      require('acp.base.notify').show('info', 'no_session')
    end
  end,
}

M.export = {
  max = 1,
  paths = true,
  values = subcommand.names_of('files'),
  run = subcommand.when_running(
    'no_session',
    subcommand.with_report(
      function(args) subcommand.notify('export', { file = subcommand.absolute(args[1]) }) end
    )
  ),
}

return M
