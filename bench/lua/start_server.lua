local argv, root = ...
vim.api.nvim_create_autocmd('BufReadPost', {
  pattern = '*.txt',
  callback = function(args)
    vim.lsp.start({
      name = 'words',
      cmd = argv,
      cmd_env = { PYTHONPATH = root },
      root_dir = vim.fn.getcwd(),
    }, { bufnr = args.buf })
  end,
})
