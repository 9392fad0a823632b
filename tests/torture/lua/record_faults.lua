--- Record internal errors that the plugin reports, in `_G.faults`.
_G.faults = {}
local updated = require('acp.base.installation.updated')
local show_fault = updated.show_fault
updated.show_fault = function(text)
  table.insert(_G.faults, debug.traceback('fault: ' .. text))
  show_fault(text)
end
