--- Pending questions of all sessions: their cards in the order of a bare `:Acp allow`, and the
--- numbers of those that have no card yet.
local M = {}

local answer_rule = require('acp.features.permissions.answer_rule')

local RANKS = { elicitation = 2, consent = 3 } -- by subject; all others have rank 1

---@class acp.Card
---@field id integer|string
---@field subject? string 'permission', 'access', 'command', 'elicitation' or 'consent'
---@field title? string title in its first line; empty if the title has several lines
---@field lines string[]
---@field spans acp.Span[]
---@field head? integer lines above its options
---@field lead? integer number of first lines that show the allowed action; default 1
---@field title_rows? integer number of first lines that have its title; default 1
---@field more? boolean whether it has text besides its edits
---@field diffs? boolean whether it contains edits
---@field options acp.PermissionOption[]
---@field session integer
---@field order integer number of its arrival

local cards = {} ---@type acp.Card[]
local waiting = {} ---@type table<integer, integer> by session: questions without a card
local arrivals = 0
local sorted_for ---@type integer|nil session whose cards come first

--- Return all cards in their order.
---@return acp.Card[]
function M.list() return cards end

---@param id integer|string
---@return acp.Card|nil
function M.get(id)
  return vim.iter(cards):find(function(card) return card.id == id end)
end

---@param id integer|string
---@return acp.PermissionOption[]|nil
function M.options(id) return (M.get(id) or {}).options end

--- Return the number of sessions that have cards.
function M.count_sessions()
  local sessions = {}
  for _, card in ipairs(cards) do
    sessions[card.session] = true
  end
  return vim.tbl_count(sessions)
end

--- Return the number of questions without a card.
function M.count_without_card()
  local count = 0
  for _, more in pairs(waiting) do
    count = count + more
  end
  return count
end

--- Sort the cards: permissions first, consents last, and within these the current session first.
--- Return whether the order may have changed since the last call.
function M.sort()
  local current = require('acp.base.valid_names').session_number()
  local function rank(card)
    return { RANKS[card.subject] or 1, card.session == current and 0 or 1, card.order }
  end
  table.sort(cards, function(a, b)
    local first, other = rank(a), rank(b)
    for i = 1, #first do
      if first[i] ~= other[i] then return first[i] < other[i] end
    end
    return false
  end)
  local has_moved = current ~= sorted_for
  sorted_for = current
  return has_moved
end

--- Set the number of questions without a card of session `n`.
---@param more? integer
function M.set_more(n, more) waiting[n] = more ~= 0 and more or nil end

--- Return the number of new questions. A new card may belong to a question that had none and has
--- been announced.
---@param list acp.Card[]
---@param known table<integer|string, acp.Card> the cards before
---@param increase integer increase of the questions without a card
local function count_new(list, known, increase)
  local fresh = 0
  for _, card in ipairs(list) do
    fresh = fresh + (known[card.id] and 0 or 1)
  end
  return math.max(fresh + increase, 0)
end

--- Set the pending questions of session `n`, oldest first, and sort all cards. Restart the timing
--- of new cards and of those whose title has changed.
---@param list acp.Card[] cards from the host: `id`, `lines`, `spans`, `options`
---@param more? integer number of questions without a card
---@return integer|nil arrived number of new questions; nil if there was no card and is none
---@return acp.Card|nil first the first new card
function M.set(n, list, more)
  local known = {} ---@type table<integer|string, acp.Card>
  for _, card in ipairs(cards) do
    if card.session == n then known[card.id] = card end
  end
  local arrived = count_new(list, known, (more or 0) - (waiting[n] or 0))
  M.set_more(n, more)
  if #list == 0 and not next(known) then return nil end
  cards = vim.tbl_filter(function(card) return card.session ~= n end, cards)
  local first
  for _, sent in ipairs(list) do
    local before = known[sent.id]
    if not before then arrivals = arrivals + 1 end
    local own = { session = n, order = before and before.order or arrivals }
    local card = vim.tbl_extend('force', sent, own)
    cards[#cards + 1] = card
    first = first or not before and card or nil
    if not before or before.title ~= card.title then answer_rule.renew(card.id) end
  end
  M.sort()
  return arrived, first
end

--- Remove all questions.
function M.clear()
  cards, waiting = {}, {}
end

return M
