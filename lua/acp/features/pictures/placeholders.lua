--- Cells of images in kitty's graphics protocol: a placeholder with two combining characters for
--- row and column. The terminal draws that part of the image.
local M = {}

local PLACEHOLDER = vim.fn.nr2char(0x10EEEE)

--- Ranges of the characters that number rows and columns, in the order of the protocol: combining
--- characters of class 230 in Unicode 6.0 that are part of no other character.
-- stylua: ignore
local RANGES = {
  { 0x305, 0x305 }, { 0x30d, 0x30e }, { 0x310, 0x310 }, { 0x312, 0x312 }, { 0x33d, 0x33f },
  { 0x346, 0x346 }, { 0x34a, 0x34c }, { 0x350, 0x352 }, { 0x357, 0x357 }, { 0x35b, 0x35b },
  { 0x363, 0x36f }, { 0x483, 0x487 }, { 0x592, 0x595 }, { 0x597, 0x599 }, { 0x59c, 0x5a1 },
  { 0x5a8, 0x5a9 }, { 0x5ab, 0x5ac }, { 0x5af, 0x5af }, { 0x5c4, 0x5c4 }, { 0x610, 0x617 },
  { 0x657, 0x65b }, { 0x65d, 0x65e }, { 0x6d6, 0x6dc }, { 0x6df, 0x6e2 }, { 0x6e4, 0x6e4 },
  { 0x6e7, 0x6e8 }, { 0x6eb, 0x6ec }, { 0x730, 0x730 }, { 0x732, 0x733 }, { 0x735, 0x736 },
  { 0x73a, 0x73a }, { 0x73d, 0x73d }, { 0x73f, 0x741 }, { 0x743, 0x743 }, { 0x745, 0x745 },
  { 0x747, 0x747 }, { 0x749, 0x74a }, { 0x7eb, 0x7f1 }, { 0x7f3, 0x7f3 }, { 0x816, 0x819 },
  { 0x81b, 0x822 },
}

local numbers = {} ---@type string[] by row or column, from 1
for _, range in ipairs(RANGES) do
  for code = range[1], range[2] do
    numbers[#numbers + 1] = vim.fn.nr2char(code)
  end
end

--- Maximum number of rows and of columns of an image.
M.MOST = #numbers

--- Return the rows of an image.
---@param columns integer
---@param rows integer
---@return string[]
function M.grid(columns, rows)
  local lines = {}
  for row = 1, rows do
    local cells = {}
    for column = 1, columns do
      cells[column] = PLACEHOLDER .. numbers[row] .. numbers[column]
    end
    lines[row] = table.concat(cells)
  end
  return lines
end

return M
