local frame = require('acp.frame')
local apply = frame.apply
frame.apply = function(ops)
  vim.wait(20000, function() return _G.go_on end, 5)
  return apply(ops)
end
