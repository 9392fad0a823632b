vim.keymap.set('i', '<F2>', function()
  require('acp.ui.window').open_beside(vim.api.nvim_create_buf(false, true))
  return 'x'
end, { expr = true })
