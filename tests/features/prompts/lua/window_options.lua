return vim.tbl_map(function(win)
  local o = vim.wo[win]
  return { vim.fn.bufname(vim.api.nvim_win_get_buf(win)), o.winfixbuf, o.winfixheight, o.number }
end, vim.api.nvim_tabpage_list_wins(0))
