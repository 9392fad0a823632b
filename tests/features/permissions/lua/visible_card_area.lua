for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
  local config = vim.api.nvim_win_get_config(win)
  if vim.bo[vim.api.nvim_win_get_buf(win)].filetype == 'acppermission' and not config.hide then
    local at = vim.api.nvim_win_get_position(win)
    return { at[1], at[2], vim.api.nvim_win_get_height(win), vim.api.nvim_win_get_width(win) }
  end
end
