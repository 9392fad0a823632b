--- Cards in windows of other features.
local M = {}

--- Return the card of a question, cut if it takes more than `rows` screen rows.
---@param id integer|string
---@param rows integer
---@return acp.FittedCard|acp.Card|nil
function M.card(id, width, rows)
  local card = require('acp.features.permissions.cards').get(id)
  return card and require('acp.features.permissions.card_fitting').card(card, width, rows, false)
end

return M
