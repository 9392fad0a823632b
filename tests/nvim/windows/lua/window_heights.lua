local window, heights = require('acp.ui.window'), {}
local chat = window.open_beside(0, { layout = 'right' })
window.open_beside(0, { layout = 'bottom', size = 8, under = chat })
for i = 1, 2 do
  local win = window.open_beside(0, { layout = 'bottom', size = 10 })
  heights[i] = vim.api.nvim_win_get_height(win)
  window.close(win)
end
return heights
