local name, argv, root, pattern = ...
vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile' }, {
  pattern = pattern,
  callback = function(args)
    vim.lsp.start({
      name = name,
      cmd = argv,
      cmd_env = { PYTHONPATH = root },
      root_dir = vim.fn.getcwd(),
      flags = { debounce_text_changes = 0 },
    }, { bufnr = args.buf })
  end,
})
