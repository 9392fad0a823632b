-- Queue three jobs, of which the second one fails. `_G.done` has the others.
local slices, done = require('acp.base.slices'), {}
_G.done = done
local add = slices.queue(1)
add(function()
  slices.rest()
  table.insert(done, 1)
end)
add(function() error('broken', 0) end)
add(function() table.insert(done, 3) end)
