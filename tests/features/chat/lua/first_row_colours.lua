vim.cmd.redraw()
local at = vim.fn.screenpos(vim.fn.bufwinid('acp://chat/1'), 1, 1)
local found = {}
for col = 0, 8 do
  found[#found + 1] = vim.fn.screenattr(at.row, at.col + col)
end
return found
