--- How many rows of the screen a text takes.
local M = {}

local text_width = require('acp.base.text_width')

--- Screen lines that `lines` take when they are wrapped at `width`, wherever that is: the least.
---@return integer
function M.least(lines, width)
  local count = 0
  for _, line in ipairs(lines) do
    count = count + math.max(math.ceil(text_width(line) / width), 1)
  end
  return count
end

--- Rows that a window's text takes there, which breaks at words and is indented.
---@param last? integer row (from 0) up to which it counts
---@return integer
function M.there(win, last) return vim.api.nvim_win_text_height(win, { end_row = last }).all end

return M
