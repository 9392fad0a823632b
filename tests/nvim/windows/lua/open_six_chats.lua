_G.entered = 0
vim.api.nvim_create_autocmd({ 'BufEnter', 'WinEnter' }, {
  callback = function() _G.entered = _G.entered + 1 end,
})
for n = 1, 6 do
  require('acp.features.chat.view').open(n)
end
