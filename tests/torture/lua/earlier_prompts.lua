_G.earlier = nil
local history = require('acp.features.prompts.earlier_prompts')
history.when_complete(function()
  _G.earlier = vim.tbl_map(function(one) return one.text end, history.list())
end)
