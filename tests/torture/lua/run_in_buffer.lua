local path, code = ...
local bufnr = vim.fn.bufadd(path)
vim.fn.bufload(bufnr)
vim.bo[bufnr].buflisted = true
vim.api.nvim_buf_call(bufnr, function() assert(loadstring(code))() end)
