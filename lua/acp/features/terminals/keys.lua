--- Keys of an agent's terminal in Normal mode.
local actions = require('acp.ui.actions')

return {
  terminal = {
    close = { 'close the window', actions.close },
    stop = {
      'stop the command in the terminal',
      function(bufnr) require('acp.features.terminals.view').stop(bufnr) end,
    },
  },
}
