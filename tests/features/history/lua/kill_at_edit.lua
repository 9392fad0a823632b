local name, host = ...
vim.api.nvim_create_autocmd('User', {
  pattern = 'AcpEdit',
  callback = function(args)
    if vim.fs.basename(args.data.path) == name then
      vim.uv.kill(host, 'sigkill')
      vim.uv.kill(vim.fn.getpid(), 'sigkill')
    end
  end,
})
