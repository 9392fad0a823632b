local b = vim.fn.bufadd(...)
vim.fn.bufload(b)
local bo = vim.bo[b]
local bytes = vim.api.nvim_buf_call(b, vim.fn.wordcount).bytes
return {
  vim.api.nvim_buf_get_lines(b, 0, -1, true),
  bo.fileencoding,
  bo.bomb,
  bo.fileformat,
  bo.eol and bytes > 0,
  bo.readonly,
}
