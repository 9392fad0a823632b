_G.asked = {}
for _, name in ipairs({ 'acp.buffers.live', 'acp.buffers.disk_changes' }) do
  for key, value in pairs(require(name)) do
    if type(value) == 'function' then
      require(name)[key] = function(...)
        table.insert(_G.asked, key)
        return value(...)
      end
    end
  end
end
local host = require('acp.base.host')
local notify = host.notify
host.notify = function(verb, args)
  table.insert(_G.asked, verb)
  return notify(verb, args)
end
