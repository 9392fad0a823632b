for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
  local at = vim.api.nvim_win_get_config(win)
  if at.relative ~= '' then return { at.anchor, at.col, at.width } end
end
