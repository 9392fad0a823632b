-- Forget the options, buffers, messages and results of the last case, and open a file of the next.
local options = 'write backup backupdir backupext patchmode endofline fixendofline autowrite'
for name in (options .. ' autowriteall hidden'):gmatch('%a+') do
  vim.cmd.set(name .. '&')
end
vim.cmd('enew! | silent only | silent! %argdelete')
for _, it in ipairs(vim.fn.getbufinfo({ buflisted = 1 })) do
  if it.bufnr ~= vim.api.nvim_get_current_buf() then vim.cmd.bwipeout({ it.bufnr, bang = true }) end
end
vim.g.caught, _G.outcome, vim.v.errmsg = nil, nil, ''
vim.cmd.messages('clear')
vim.cmd.cd(vim.fn.fnameescape(...))
vim.cmd.edit('a.txt')
_G.fired = {}
