for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
  if vim.bo[vim.api.nvim_win_get_buf(win)].filetype == 'acppermission' then
    local at = vim.api.nvim_win_get_position(win)
    return {
      at[1] + 1,
      at[2] + 1,
      vim.api.nvim_win_get_width(win) + 2,
      vim.api.nvim_win_get_height(win) + 2,
    }
  end
end
