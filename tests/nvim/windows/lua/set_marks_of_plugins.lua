local ns = vim.api.nvim_create_namespace('test')
for col = 0, 7 do
  for _, right in ipairs({ true, false }) do
    vim.api.nvim_buf_set_extmark(0, ns, 10, col, { right_gravity = right })
  end
  vim.api.nvim_buf_set_extmark(0, ns, 10, 0, { end_col = col, hl_group = 'Error' })
  vim.api.nvim_buf_set_extmark(0, ns, 9, 1, { end_row = 10, end_col = col })
  vim.api.nvim_buf_set_extmark(0, ns, 10, col, { end_row = 11, end_col = 2, sign_text = 'E' })
end
local column = { virt_text = { { 'here', 'Error' } }, virt_text_win_col = 50 }
vim.api.nvim_buf_set_extmark(0, ns, 10, 2, column)
