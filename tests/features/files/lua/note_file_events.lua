_G.fired = {}
vim.api.nvim_create_autocmd({
  'BufWritePre',
  'BufWritePost',
  'BufWriteCmd',
  'FileWritePre',
  'FileWritePost',
  'FileAppendPre',
  'FileAppendPost',
  'FileChangedShell',
  'FileChangedShellPost',
  'BufFilePre',
  'BufFilePost',
  'BufReadPost',
  'BufUnload',
  'BufModifiedSet',
}, {
  pattern = '*.txt',
  callback = function(args)
    table.insert(_G.fired, args.event .. ' ' .. vim.fs.basename(args.match))
  end,
})
