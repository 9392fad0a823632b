-- Accept an item of the server `acp` as a completion plugin does, after a resolve. Return the
-- documentation.
local item = ...
local client = vim.lsp.get_clients({ bufnr = 0, name = 'acp' })[1]
local answers = assert(vim.lsp.buf_request_sync(0, 'completionItem/resolve', item, 5000))
local resolved = answers[client.id].result
vim.lsp.util.apply_text_edits(
  { item.textEdit },
  vim.api.nvim_get_current_buf(),
  client.offset_encoding
)
local line = vim.api.nvim_get_current_line()
vim.api.nvim_win_set_cursor(0, { vim.fn.line('.'), #line })
if item.command then
  assert(vim.lsp.buf_request_sync(0, 'workspace/executeCommand', item.command, 5000))
end
return vim.tbl_get(resolved, 'documentation', 'value')
