local found = {}
for row = 0, 9999 do
  found[row + 1] = { lnum = row, col = 0, severity = 1 + row % 4, message = 'no. ' .. row }
end
local off = { virtual_text = false, signs = false, underline = false }
vim.diagnostic.set(vim.api.nvim_create_namespace('lint'), 0, found, off)
