--- Keys of a form.
local actions = require('acp.ui.actions')

return {
  form = {
    choose = {
      'tick the box',
      function() require('acp.features.forms.view').choose() end,
    },
    review = { 'review and send', actions.write },
    close = { 'close the window', actions.close_written },
  },
}
