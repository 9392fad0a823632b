--- Order of questions.

local RANKS = { elicitation = 2, consent = 3 } -- by subject; all others have rank 1

--- Sort cards in the order of a bare `:Acp allow`: permissions first, consents last, and within
--- these the current session first.
---@param cards acp.Card[]
---@param current integer|nil session
return function(cards, current)
  local function rank(card)
    return { RANKS[card.subject] or 1, card.session == current and 0 or 1, card.order }
  end
  table.sort(cards, function(a, b)
    local one, other = rank(a), rank(b)
    for i = 1, #one do
      if one[i] ~= other[i] then return one[i] < other[i] end
    end
    return false
  end)
end
