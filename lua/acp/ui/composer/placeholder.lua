--- The text of an empty composer: the signs that bring up something to choose from.
local M = {}

local TEXTS = {
  'Ask anything. @ file  / command  { context',
  '@ file  / command  { context',
  '@ file  / command',
}

--- The longest one for which there is room.
---@param width integer cells
---@return string
function M.text(width)
  for _, text in ipairs(TEXTS) do
    if #text < width then return text end
  end
  return ''
end

return M
