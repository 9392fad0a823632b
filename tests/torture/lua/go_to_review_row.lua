local path, row = ...
for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
  local bufnr = vim.api.nvim_win_get_buf(win)
  if vim.wo[win].diff and vim.api.nvim_buf_get_name(bufnr) == path then
    vim.api.nvim_set_current_win(win)
    vim.api.nvim_win_set_cursor(win, { row + 1, 0 })
    return true
  end
end
