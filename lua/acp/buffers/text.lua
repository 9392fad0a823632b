--- A buffer's text beyond its lines: whether it has any byte, and whether its last line is ended.
local M = {}

--- Only the empty file has no byte; its buffer has one empty line all the same. Not asked of
--- `nvim_buf_get_offset`, which goes by what was there before an undo.
---@return boolean
function M.is_empty(bufnr)
  if
    vim.api.nvim_buf_line_count(bufnr) > 1
    or vim.api.nvim_buf_get_lines(bufnr, 0, 1, true)[1] ~= ''
  then
    return false
  end
  return vim.api.nvim_buf_call(bufnr, vim.fn.wordcount).bytes == 0
end

--- Whether the text of the buffer ends with a newline.
function M.ends(bufnr) return vim.bo[bufnr].endofline and not M.is_empty(bufnr) end

return M
