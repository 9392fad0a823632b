_G.told = {}
local watch = require('acp.buffers.watch')
local turns = watch.turns
watch.turns = function(roots)
  table.insert(_G.told, #roots)
  return turns(roots)
end
