vim.api.nvim_create_autocmd('FileType', {
  pattern = 'acpsample',
  callback = function() error('no parser of this language') end,
})
vim.filetype.add({ extension = { sample = 'acpsample' } })
