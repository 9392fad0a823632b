local function note(module, name)
  local action = module[name]
  module[name] = function(...)
    local answer = action(...)
    _G.tried = true
    return answer
  end
end
note(require('acp.buffers.live'), 'write')
note(require('acp.buffers.disk_changes'), 'merge_change')
