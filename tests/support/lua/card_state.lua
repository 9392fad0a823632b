for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
  if vim.bo[vim.api.nvim_win_get_buf(win)].filetype == 'acppermission' then
    return vim.api.nvim_win_get_config(win).hide and 'hidden' or 'shown'
  end
end
return 'none'
