local ns = vim.api.nvim_create_namespace('t')
local rows = vim.tbl_map(
  function(id) return vim.api.nvim_buf_get_extmark_by_id(0, ns, id, {}) end,
  { 1, 2, 3 }
)
return {
  rows,
  vim.api.nvim_buf_get_mark(0, 'm'),
  vim.fn.foldclosed(92),
  vim.fn.foldclosedend(92),
  vim.api.nvim_win_get_cursor(0),
  vim.fn.line('w0'),
}
