local t = vim.api.nvim_tabpage_list_wins(0)
return vim.tbl_map(
  function(w) return { vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(w)), vim.wo[w].diff } end,
  t
)
