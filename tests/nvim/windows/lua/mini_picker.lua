-- mini.pick as `vim.ui.select`. `_G.opened` counts the pickers.
require('mini.pick').setup()
_G.opened = 0
vim.ui.select = function(...)
  _G.opened = _G.opened + 1
  return require('mini.pick').ui_select(...)
end
