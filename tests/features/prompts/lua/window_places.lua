return vim.tbl_map(function(win)
  local at = vim.fn.win_screenpos(win)
  local name = vim.fn.fnamemodify(vim.fn.bufname(vim.api.nvim_win_get_buf(win)), ':.')
  return { name, at[2] > 1 and 'right' or 'left', vim.api.nvim_win_get_config(win).relative }
end, vim.api.nvim_tabpage_list_wins(0))
