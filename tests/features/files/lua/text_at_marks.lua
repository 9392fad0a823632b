local ns = vim.api.nvim_create_namespace('test')
local found = {}
for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
  local at = vim.api.nvim_buf_get_extmark_by_id(bufnr, ns, 1, {})
  if at[1] then
    local name = vim.fs.basename(vim.api.nvim_buf_get_name(bufnr))
    found[name] = vim.api.nvim_buf_get_lines(bufnr, at[1], at[1] + 1, true)[1]:sub(at[2] + 1)
  end
end
return found
