for _, line in ipairs(vim.api.nvim_buf_get_lines(vim.fn.bufnr('acp://review'), 0, -1, false)) do
  local name = line:match('^▸ M (%S+)')
  if name then return name end
end
