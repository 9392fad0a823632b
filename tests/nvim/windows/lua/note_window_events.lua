_G.fired = {}
vim.api.nvim_create_autocmd({ 'WinEnter', 'WinLeave', 'BufEnter', 'BufReadPost', 'FileType' }, {
  callback = function(args) table.insert(_G.fired, args.event) end,
})
