--- Placeholder of an empty composer: the signs that open a completion menu.
local M = {}

local TEXTS = {
  'Ask anything. @ file  / command  { context  # prompt',
  'Ask anything. @ file  / command  { context',
  '@ file  / command  { context  # prompt',
  '@ file  / command  { context',
  '@ file  / command',
}

--- Return the longest text that fits.
---@param width integer cells
---@return string
function M.text(width)
  for _, text in ipairs(TEXTS) do
    if #text < width then return text end
  end
  return ''
end

return M
