local ns = vim.api.nvim_create_namespace('t')
for id, row in ipairs({ 4, 49, 79 }) do
  vim.api.nvim_buf_set_extmark(0, ns, row, 5, { id = id })
end
vim.api.nvim_buf_set_mark(0, 'm', 60, 0, {})
vim.wo.foldmethod = 'manual'
vim.cmd('90,95fold')
vim.api.nvim_win_set_cursor(0, { 70, 3 })
vim.cmd('normal! zt')
