local clock, ms = require('acp.features.permissions.clock'), ...
_G.acp_clock = _G.acp_clock or { ms = clock.ms, ahead = 0 }
_G.acp_clock.ahead = _G.acp_clock.ahead + ms
clock.ms = function() return _G.acp_clock.ms() + _G.acp_clock.ahead end
