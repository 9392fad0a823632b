local changes = require('acp.buffers.disk_changes')
local take = changes.merge_change
changes.merge_change = function(...)
  changes.merge_change = take
  vim.fn.append('$', 'mine')
  return take(...)
end
