local live = require('acp.buffers.live')
local read = live.read
_G.reads = 0
live.read = function(...)
  _G.reads = _G.reads + 1
  return read(...)
end
