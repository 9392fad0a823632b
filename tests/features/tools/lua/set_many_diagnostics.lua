local namespace, found = vim.api.nvim_create_namespace('lint'), {}
local lines = {}
for i = 1, 3000 do
  lines[i] = 'line ' .. i
  found[i] = { lnum = 3000 - i, col = 0, severity = 1 + i % 2, message = 'no. ' .. i }
end
vim.api.nvim_buf_set_lines(0, 0, -1, false, lines)
vim.diagnostic.set(namespace, 0, found)
