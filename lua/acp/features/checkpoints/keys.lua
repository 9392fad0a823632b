--- Keys of the list of checkpoints.
local actions = require('acp.ui.actions')

---@param name string
local function on_list(name)
  return function(bufnr) require('acp.features.checkpoints.list')[name](bufnr) end
end

return {
  checkpoints = {
    changes = { 'show what changed since', on_list('changes') },
    restore = { 'restore what agents changed', on_list('restore') },
    restore_all = { 'restore all files, yours too', on_list('restore_all') },
    undo = { 'undo the last restore', on_list('undo') },
    refresh = { 'refresh', on_list('refresh') },
    close = { 'close the window', actions.close },
  },
}
