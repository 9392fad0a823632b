--- Keys of the list of rules.
local actions = require('acp.ui.actions')

return {
  rules = {
    remove = {
      'take the rule of this project away',
      function() require('acp.features.rules.rules').remove() end,
    },
    close = { 'close the window', actions.close },
  },
}
