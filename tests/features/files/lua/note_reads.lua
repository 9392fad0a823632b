local files = require('acp.buffers.disk_changes')
_G.calls = {}
for _, name in ipairs({ 'set_turns', 'unsaved' }) do
  local call = files[name]
  files[name] = function(...)
    table.insert(_G.calls, name)
    return call(...)
  end
end
