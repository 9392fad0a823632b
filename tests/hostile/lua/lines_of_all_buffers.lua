local lines = {}
for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
  vim.list_extend(lines, vim.api.nvim_buf_get_lines(buffer, 0, -1, false))
end
return lines
