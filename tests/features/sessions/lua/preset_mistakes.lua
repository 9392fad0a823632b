local value = ...
require('acp').setup({ presets = assert(loadstring('return ' .. value))() })
local config = require('acp.config')
return { config.mistakes, config.get().presets.work ~= nil }
