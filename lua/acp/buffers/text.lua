--- Properties of a buffer's text: the number of its change, whether it is empty as bytes, and
--- whether its last line has a newline.
local M = {}

--- Return the number of the change that a buffer is at. An undo returns to a lower one.
---@return integer
function M.change_of(bufnr) return vim.api.nvim_buf_call(bufnr, vim.fn.changenr) end

--- Return whether the buffer's text has no bytes. A single empty line does not prove that, since
--- the file may be a newline. `nvim_buf_get_offset()` is not used because it is outdated after an
--- undo.
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

--- Return whether the text of the buffer ends with a newline.
function M.ends_with_newline(bufnr) return vim.bo[bufnr].endofline and not M.is_empty(bufnr) end

local BREAKS = { unix = '\n', dos = '\r\n', mac = '\r' }

---@class acp.Layout format of a text in its file
---@field fileformat string
---@field fileencoding string
---@field bomb boolean

---@return acp.Layout
function M.layout(bufnr)
  local options = vim.bo[bufnr]
  return {
    fileformat = options.fileformat,
    fileencoding = options.fileencoding,
    bomb = options.bomb,
  }
end

--- Return whether the bytes of the buffer's file are those that a write of the buffer would
--- produce.
---@param layout? acp.Layout of the file when it was read; the buffer's options may differ by now
---@return boolean
function M.is_of_file(bufnr, layout)
  local options = layout or M.layout(bufnr)
  local bytes = require('acp.base.read_file')(vim.api.nvim_buf_get_name(bufnr))
  local line_break = BREAKS[options.fileformat]
  local lines = vim.api.nvim_buf_get_lines(bufnr, 0, -1, true)
  local own = table.concat(lines, line_break) .. (M.ends_with_newline(bufnr) and line_break or '')
  local encoding = options.fileencoding
  if options.bomb then own = '\239\187\191' .. own end
  if encoding ~= '' and encoding ~= 'utf-8' then own = vim.iconv(own, 'utf-8', encoding) end
  return bytes == own
end

return M
