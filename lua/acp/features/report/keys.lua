--- Keys of a report.
local actions = require('acp.ui.actions')

return {
  report = {
    write = { 'write the file', actions.write },
    close = { 'close the window', actions.close_written },
  },
}
