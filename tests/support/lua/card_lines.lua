for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
  local buf = vim.api.nvim_win_get_buf(win)
  if vim.bo[buf].filetype == 'acppermission' then
    return vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  end
end
