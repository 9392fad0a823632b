local function map(args)
  local opts = { buffer = args.buf, desc = 'mine' }
  vim.keymap.set('n', 'g?', '<Nop>', opts)
end
local pattern = { 'acpcomposer', 'acpqueue' }
vim.api.nvim_create_autocmd('FileType', { pattern = pattern, callback = map })
