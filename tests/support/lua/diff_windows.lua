local found = {}
for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
  if vim.wo[win].diff then
    local buf = vim.api.nvim_win_get_buf(win)
    table.insert(found, vim.api.nvim_buf_get_lines(buf, 0, -1, false))
  end
end
return found
