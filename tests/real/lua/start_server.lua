local command, pattern, path = ...
vim.api.nvim_create_autocmd('FileType', {
  pattern = pattern,
  callback = function()
    vim.lsp.start({
      name = vim.fs.basename(command[1]),
      cmd = command,
      cmd_env = { PATH = path },
      root_dir = vim.fn.getcwd(),
    })
  end,
})
