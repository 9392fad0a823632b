--- Return first line, last line and text of each mark of an inline edit in the current buffer.
local found = {}
local ns = vim.api.nvim_create_namespace('acp.edit')
for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, ns, 0, -1, { details = true })) do
  local text = vim.trim(mark[4].virt_text[1][1])
  found[#found + 1] = { mark[2] + 1, mark[4].end_row + 1, text }
end
return found
