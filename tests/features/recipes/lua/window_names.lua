-- Return the names of the buffers in all windows.
return vim.tbl_map(
  function(win) return vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win)) end,
  vim.api.nvim_list_wins()
)
