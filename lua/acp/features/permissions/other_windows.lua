--- Cards in windows of other features.
local M = {}

--- Return the card of a question, cut if it takes more than `rows` screen rows.
---@param id integer|string
---@param rows integer
---@return acp.Fitted|acp.Card|nil
function M.card(id, width, rows)
  local card = require('acp.features.permissions.float').card(id)
  return card and require('acp.features.permissions.fitted').card(card, width, rows, false)
end

return M
