--- Return the buffer names of this tab page's windows, without the directories of files.
return vim.tbl_map(function(win)
  local name = vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win))
  return name:match('^acp://') and name or vim.fs.basename(name)
end, vim.api.nvim_tabpage_list_wins(0))
