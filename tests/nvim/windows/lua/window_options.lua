return vim.tbl_map(function(win)
  local name = vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win))
  local o = vim.wo[win]
  return { name, vim.api.nvim_win_get_width(win), o.number, o.winfixbuf }
end, vim.api.nvim_list_wins())
