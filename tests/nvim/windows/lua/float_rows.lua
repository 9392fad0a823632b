return vim.tbl_map(function(name)
  local win = vim.fn.bufwinid(name)
  local at, config = vim.api.nvim_win_get_position(win), vim.api.nvim_win_get_config(win)
  return { at[1], at[1] + config.height + 2 }
end, { 'acp://chat/1', 'acp://composer/1', 'acp://plan/1' })
