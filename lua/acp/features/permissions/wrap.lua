--- Screen rows of a wrapped text.
local M = {}

local text_width = require('acp.base.text.width')

--- Return the minimum number of screen rows that `lines` need at `width`, wrapped at any character.
---@return integer
function M.min_rows(lines, width)
  local count = 0
  for _, line in ipairs(lines) do
    count = count + math.max(math.ceil(text_width(line) / width), 1)
  end
  return count
end

--- Return the number of screen rows of a window's text, with its 'linebreak' and 'breakindent'.
---@param last? integer last row to count, 0-based
---@return integer
function M.rows_in_window(win, last)
  return vim.api.nvim_win_text_height(win, { end_row = last }).all
end

return M
