local function tidy() vim.cmd([[silent! keepjumps %s/  \+/ /g | noautocmd update]]) end
vim.api.nvim_create_autocmd('BufWritePost', {
  pattern = '*.txt',
  callback = function(args)
    vim.defer_fn(function() vim.api.nvim_buf_call(args.buf, tidy) end, 5)
  end,
})
