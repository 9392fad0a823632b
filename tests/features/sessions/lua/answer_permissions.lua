vim.api.nvim_create_autocmd('User', {
  pattern = 'AcpPermission',
  callback = function(args) require('acp').answer(args.data.id, args.data.options[1].id) end,
})
