local config = { relative = 'editor', row = 30, col = 100, anchor = 'SE', zindex = 50 }
config.width, config.height = 100, 30
vim.api.nvim_open_win(vim.api.nvim_create_buf(false, true), false, config)
local function press()
  _G.ms = _G.ms + 9000
  vim.api.nvim_input('gy')
end
vim.api.nvim_create_autocmd('SafeState', { once = true, callback = vim.schedule_wrap(press) })
