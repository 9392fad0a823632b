local changes = require('acp.buffers.disk_changes')
local take = changes.take
changes.take = function(...)
  changes.take = take
  vim.fn.append('$', 'mine')
  return take(...)
end
