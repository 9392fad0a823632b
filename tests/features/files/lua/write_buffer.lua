local path, text = ...
local bufnr, rows = vim.fn.bufnr(path), vim.split(text, '\n', { trimempty = true })
vim.api.nvim_buf_set_lines(bufnr, 0, -1, true, rows)
vim.api.nvim_buf_call(bufnr, function() vim.cmd('silent write') end)
