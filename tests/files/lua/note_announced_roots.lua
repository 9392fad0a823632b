_G.told = {}
local watch = require('acp.buffers.watch')
local turns = watch.set_turns
watch.set_turns = function(roots)
  table.insert(_G.told, #roots)
  return turns(roots)
end
