for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
  if vim.api.nvim_buf_get_name(buffer) == ... then
    return vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
  end
end
