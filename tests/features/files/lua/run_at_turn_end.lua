local command = ...
vim.api.nvim_create_autocmd('User', {
  pattern = 'AcpTurnEnd',
  once = true,
  callback = function() vim.cmd(command) end,
})
