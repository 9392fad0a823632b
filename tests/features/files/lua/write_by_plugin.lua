vim.bo.buftype = 'acwrite'
vim.api.nvim_create_autocmd('BufWriteCmd', {
  buffer = 0,
  callback = function(args)
    vim.fn.writefile({ 'by the plugin' }, 'other.txt')
    vim.bo[args.buf].modified = false
  end,
})
