local params = vim.lsp.util.make_position_params(0, 'utf-16')
params.context = { includeDeclaration = true }
vim.lsp.buf_request(0, 'textDocument/references', params, function(_, found) _G.found = found end)
