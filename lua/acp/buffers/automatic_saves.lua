--- Tells saves by the user from saves by their autocommands.
local M = {}

--- Whether it is an autocommand that saves just now, not their word: `TextChanged`, say.
function M.saves()
  local between = vim.fn.gettext('%s Autocommands for "%s"'):match('^%%s(.-)"?%%s')
  local outermost = vim.fn.expand('<stack>'):match('(%w+)' .. vim.pesc(between))
  return outermost ~= nil and not outermost:match('^BufWrite') and not outermost:match('^FileWrite')
end

return M
