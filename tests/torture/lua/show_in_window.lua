local path = ...
for _, win in ipairs(vim.api.nvim_list_wins()) do
  if not vim.w[win].acp and not vim.wo[win].winfixbuf then
    vim.api.nvim_set_current_win(win)
    if vim.api.nvim_buf_get_name(0) ~= path then vim.cmd('silent hide edit ' .. path) end
    return
  end
end
vim.cmd('silent topleft split ' .. path)
