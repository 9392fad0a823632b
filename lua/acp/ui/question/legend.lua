--- The footer of the float of decisions: keys or commands.
local M = {}

--- For who is in it.
---@param cards acp.Card[]
---@return string
function M.inside(cards)
  local diffs = vim.iter(cards):any(function(card) return card.diffs end)
  return (' y allow · n reject%s · g? keys '):format(diffs and ' · d side by side' or '')
end

--- For who is elsewhere, with how much there is that is not seen.
---@param cards acp.Card[]
---@param more integer rows
---@return string
function M.outside(cards, more)
  local go = more > 0 and ('+%d lines, :Acp permissions'):format(more) or nil
  for _, card in ipairs(cards) do
    if card.subject ~= 'elicitation' then
      return (' %s:Acp allow · :Acp deny '):format(go and go .. ' · ' or '')
    end
  end
  return (' %s · :Acp deny '):format(go or ':Acp permissions')
end

return M
