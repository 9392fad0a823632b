local win = vim.fn.bufwinid('acp://chat/1')
return vim.fn.line('w$', win) == vim.fn.line('$', win)
