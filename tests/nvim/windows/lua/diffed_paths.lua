local found = {}
for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
  local buf = vim.api.nvim_win_get_buf(win)
  if vim.wo[win].diff then found[#found + 1] = vim.b[buf].acp_path end
end
return found
