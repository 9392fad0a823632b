-- Return the placement of the permission float.
for _, win in ipairs(vim.api.nvim_list_wins()) do
  if vim.bo[vim.api.nvim_win_get_buf(win)].filetype == 'acppermission' then
    return vim.api.nvim_win_get_config(win)
  end
end
