vim.cmd('silent! only!')
for _, at in ipairs({ { 11, 12 }, { 12, 20 }, { 8, 9 } }) do
  vim.cmd('split')
  vim.cmd('setlocal foldmethod=manual scrolloff=0 | normal! zE')
  vim.cmd('11,15fold')
  vim.fn.winrestview({ topline = at[1], lnum = at[2], col = 3 })
end
vim.cmd('normal! zR')
for n, lnum in ipairs({ 10, 11, 15, 16 }) do
  vim.api.nvim_buf_set_mark(0, string.char(96 + n), lnum, 2, {})
end
vim.cmd.redraw()
