--- Line wrapping of acp windows at blanks only. The default of the global option 'breakat' would
--- break `:Acp review` after its colon and `till.py` after its dot.
local M = {}

--- Set 'breakat', unless the user uses it: it has no effect in windows without 'linebreak'.
M.keep = require('acp.base.once')(function()
  local is_default = not vim.api.nvim_get_option_info2('breakat', {}).was_set
  if is_default and not vim.go.linebreak then vim.go.breakat = ' \t' end
end)

return M
