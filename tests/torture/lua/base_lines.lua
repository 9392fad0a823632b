for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
  if vim.api.nvim_buf_get_name(bufnr):match('^acp://base/%d+//(.*)$') == ... then
    return vim.api.nvim_buf_get_lines(bufnr, 0, -1, true)
  end
end
