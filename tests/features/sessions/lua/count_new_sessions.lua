local frame = require('acp.frame')
local apply = frame.apply
_G.most = 0
frame.apply = function(ops)
  local new = vim.iter(ops):filter(function(op) return op[1] == 'session' end):totable()
  _G.most = math.max(_G.most, #new)
  return apply(ops)
end
