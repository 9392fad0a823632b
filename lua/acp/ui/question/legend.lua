--- What answers a question, where the cursor is: on it the keys of a question, elsewhere the user's
--- own mapping, or the commands. Below the float, and on the row below a card in a chat.
local M = {}

local text_width = require('acp.base.text_width')
local SEPARATOR = ' · '
local HINTS = {
  'map <Plug>(acp-allow) or set keymaps.preset',
  'to map keys: keymaps.preset = true',
  'map: :h acp-preset',
}

---@class acp.Answers
---@field allow? string key or command
---@field deny string
---@field mapped boolean whether a key of the user's does it

local known = {} ---@type table<integer|string, acp.Card> by id
local oldest ---@type integer|string|nil the question that `:Acp allow` answers
local here ---@type integer|string|nil the card in a chat that the cursor is on
local answers ---@type acp.Answers|nil as of the last look
local hinted ---@type integer|string|nil the question that has told how to map

--- The key of the user's that has this effect from anywhere.
---@return string|nil
local function mapped(plug)
  if vim.fn.hasmapto(plug, 'n') == 0 then return nil end
  for _, map in ipairs(vim.api.nvim_get_keymap('n')) do
    if map.rhs == plug then return vim.fn.keytrans(map.lhsraw or map.lhs) end
  end
end

---@return acp.Answers
local function look_up()
  local allow, deny = mapped('<Plug>(acp-allow)'), mapped('<Plug>(acp-deny)')
  answers = {
    allow = allow or ':Acp allow',
    deny = deny or ':Acp deny',
    mapped = allow ~= nil or deny ~= nil,
  }
  return answers
end

--- As many of the parts as fit into so many cells, at least one.
---@param parts string[]
---@param room integer
---@return string
local function fitting(parts, room)
  local line = parts[1] or ''
  for i = 2, #parts do
    local longer = line .. SEPARATOR .. parts[i]
    if text_width(longer) > room then break end
    line = longer
  end
  return line
end

---@param cards acp.Card[]
---@param test fun(card: acp.Card): any
local function any(cards, test) return vim.iter(cards):any(test) end

---@param cards acp.Card[]
local function shows_edits(cards)
  return any(cards, function(card) return card.diffs end)
end

--- Actions of a question's keys and what they are called, the most needed first.
local WORDS = {
  { 'allow_once', 'allow' },
  { 'reject_once', 'deny' },
  { 'review', 'diff' },
  { 'option_1', 'choose' },
  { 'allow_always', 'always' },
  { 'reject_always', 'never' },
  { 'help', 'keys' },
}

local function allows(option) return vim.startswith(option.kind, 'allow') end

--- Whether a yes is the answer; a form is filled in, of choices one is taken.
---@param card acp.Card
local function takes_yes(card)
  return card.subject ~= 'elicitation' and vim.iter(card.options or {}):any(allows)
end

--- The keys of these cards, for who has the cursor on one.
---@param cards acp.Card[]
---@return string[]
local function inside(cards)
  local applies, most = { help = true, review = shows_edits(cards) }, 0
  for _, card in ipairs(cards) do
    most = math.max(most, math.min(#(card.options or {}), 9))
    for _, option in ipairs(card.options or {}) do
      applies[option.kind] = true
    end
  end
  applies.option_1 = most > 1
  local parts = {}
  for _, of in ipairs(WORDS) do
    local action, word = of[1], of[2]
    if word == 'allow' and not any(cards, takes_yes) then word = 'answer' end
    local said = applies[action]
        and require('acp.ui.keymaps').words('permission', { [action] = word })
      or ''
    if said ~= '' then
      parts[#parts + 1] = action == 'option_1' and said:gsub(' ', ('-%d '):format(most), 1) or said
    end
  end
  return parts
end

--- What answers from anywhere.
---@param cards acp.Card[]
---@return string[]
local function outside(cards)
  local by, parts = answers or look_up(), {}
  local function said(what, word)
    return vim.startswith(what, ':') and what or ('%s %s'):format(what, word)
  end
  local to_fill_in = not any(cards, takes_yes)
  parts[1] = to_fill_in and ':Acp permissions' or said(by.allow, 'allow')
  parts[2] = said(by.deny, 'deny')
  if shows_edits(cards) and #require('acp.base.state').edits() == 0 then
    parts[3] = ':Acp review'
  end
  return parts
end

--- The parts, and how to map a key where there is none, once per Neovim: as long as the question is
--- pending that has told it.
---@param parts string[]
---@param cards acp.Card[]
---@param room integer
local function with_hint(parts, cards, room)
  local by = answers or look_up()
  local mine = any(cards, function(card) return card.id == hinted end)
  local line = fitting(parts, room)
  if by.mapped or (hinted ~= nil and not mine) then return line end
  for _, hint in ipairs(HINTS) do
    local longer = line .. SEPARATOR .. hint
    if text_width(longer) <= room then
      hinted = hinted or (cards[1] or {}).id
      return longer
    end
  end
  return line
end

--- The questions have changed.
---@param cards acp.Card[] oldest first
function M.update(cards)
  known, answers, oldest = {}, nil, (cards[1] or {}).id
  for _, card in ipairs(cards) do
    known[card.id] = card
  end
end

--- Below the float, for who is in it.
---@param cards acp.Card[]
---@param room integer
---@return string
function M.inside(cards, room) return (' %s '):format(fitting(inside(cards), room - 2)) end

--- Below the float, for who is elsewhere, with how much there is that is not seen.
---@param cards acp.Card[]
---@param more integer rows
---@param room integer
---@return string
function M.outside(cards, more, room)
  local parts = outside(cards)
  if more > 0 then
    local lines = ('+%d lines'):format(more)
    local there = lines .. ', :Acp permissions'
    parts = vim.tbl_filter(function(part) return part ~= ':Acp permissions' end, parts)
    local answering = table.concat(parts, SEPARATOR, 1, math.min(#parts, 2))
    local fits = text_width(answering .. SEPARATOR .. there) <= room - 2
    table.insert(parts, math.min(#parts, 2) + 1, fits and there or lines)
  end
  return (' %s '):format(with_hint(parts, cards, room - 2))
end

--- What answers from anywhere, in a message.
---@param card acp.Card
---@param room integer
function M.message(card, room) return with_hint(outside({ card }), { card }, room) end

--- On the row below a card in a chat.
---@param id integer|string
---@param room integer cells
---@return string
function M.below(id, room)
  local card = known[id]
  if not card then return '' end
  local keys = id == here and inside({ card }) or {}
  if #keys > 0 then return fitting(keys, room) end
  if oldest ~= id then return ':Acp permissions' end
  return with_hint(outside({ card }), { card }, room)
end

--- The cursor is on this card of a chat now, or on none.
---@param id integer|string|nil
---@return boolean changed
function M.enter(id)
  if id == here then return false end
  here = id
  return true
end

return M
