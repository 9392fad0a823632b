local found = {}
for _, name in ipairs({ 'acp.hunks', 'acp.hunks.lines' }) do
  local ns = vim.api.nvim_create_namespace(name)
  vim.list_extend(found, vim.api.nvim_buf_get_extmarks(0, ns, 0, -1, { details = true }))
end
return found
