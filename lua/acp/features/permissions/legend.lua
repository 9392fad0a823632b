--- Keys or commands that answer a question, shown below the float and below a card in a chat. With
--- the cursor on the question these are its keys, otherwise the user's mappings or the commands.
local M = {}

local text_width = require('acp.base.text.width')
local SEPARATOR = ' · '
local HINTS = {
  'map <Plug>(acp-allow) or set keymaps.preset',
  'to map keys: keymaps.preset = true',
  'map: :h acp-preset',
}

---@class acp.Answers
---@field allow? string key or command
---@field deny string
---@field mapped boolean whether one of them is the user's mapping

local known = {} ---@type table<integer|string, acp.Card> by id
local oldest ---@type integer|string|nil id of the question that `:Acp allow` answers
local here ---@type integer|string|nil id of the card in a chat under the cursor
local was_inserting = false -- mode at the last call to `enter`
local cached_answers ---@type acp.Answers|nil
local hinted ---@type integer|string|nil id of the question that showed the hint about mappings

--- Return the key that the user has mapped globally to a <Plug> mapping.
---@return string|nil
local function key_mapped_to(plug)
  if vim.fn.hasmapto(plug, 'n') == 0 then return nil end
  for _, map in ipairs(vim.api.nvim_get_keymap('n')) do
    if map.rhs == plug then return vim.fn.keytrans(map.lhsraw or map.lhs) end
  end
end

--- Return whether the user is in Insert mode, where the mappings need <Esc> first.
local function is_inserting() return vim.api.nvim_get_mode().mode:match('^i') ~= nil end

--- Return the user's mappings that answer, or the commands if there are none.
---@return acp.Answers
local function answers()
  if cached_answers then return cached_answers end
  local allow, deny = key_mapped_to('<Plug>(acp-allow)'), key_mapped_to('<Plug>(acp-deny)')
  cached_answers = {
    allow = allow or ':Acp allow',
    deny = deny or ':Acp deny',
    mapped = allow ~= nil or deny ~= nil,
  }
  return cached_answers
end

--- Join as many of the parts as fit, at least one.
---@param parts string[]
---@param room integer cells
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

--- Actions of a question's keys with their labels, the most important first.
local WORDS = {
  { 'allow_once', 'allow' },
  { 'reject_once', 'deny' },
  { 'review', 'diff' },
  { 'refuse', 'deny, say why' },
  { 'option_1', 'choose' },
  { 'allow_always', 'always' },
  { 'reject_always', 'never' },
  { 'help', 'keys' },
}

--- Return whether a question has an option of a kind.
---@param card acp.Card
local function has_kind(card, kind)
  return vim.iter(card.options or {}):any(function(option) return option.kind == kind end)
end

--- Return whether `:Acp allow` answers a question. A form has to be filled in instead.
---@param card acp.Card
local function can_be_allowed(card)
  local is_form = card.subject == 'elicitation'
  return not is_form and has_kind(card, 'allow_once')
end

---@param card acp.Card
local function can_be_denied(card) return has_kind(card, 'reject_once') end

--- Return the keys of these cards that work with the cursor on one.
---@param cards acp.Card[]
---@return string[]
local function keys_on_card(cards)
  local applies, most = { help = true, review = shows_edits(cards) }, 0
  for _, card in ipairs(cards) do
    most = math.max(most, math.min(#(card.options or {}), 9))
    for _, option in ipairs(card.options or {}) do
      applies[option.kind] = true
    end
  end
  applies.option_1 = most > 1
  applies.refuse = applies.reject_once
  local parts = {}
  for _, of in ipairs(WORDS) do
    local action, word = of[1], of[2]
    if word == 'allow' and not any(cards, can_be_allowed) then word = 'answer' end
    local label = applies[action]
        and require('acp.ui.keymaps').words('permission', { [action] = word })
      or ''
    if label ~= '' then
      parts[#parts + 1] = action == 'option_1' and label:gsub(' ', ('-%d '):format(most), 1)
        or label
    end
  end
  return parts
end

--- Return one part for two keys that differ in their last letter, `<Space>ay/n allow/deny`, nil for
--- others.
---@param allow string
---@param deny string
---@return string|nil
local function joined_keys(allow, deny)
  local head, first = allow:match('^(.+)(%w)$')
  local other_head, second = deny:match('^(.+)(%w)$')
  if not head or head ~= other_head or vim.startswith(head, ':') then return nil end
  return ('%s%s/%s allow/deny'):format(head, first, second)
end

--- Return the mappings or commands that work in any window. Those that allow and deny are one part
--- if they do not fit side by side, because one of them alone would mislead.
---@param cards acp.Card[]
---@param room integer cells
---@return string[]
local function keys_elsewhere(cards, room)
  local answer, parts = answers(), {}
  local escape = is_inserting() and '<Esc>' or ''
  local function label(key, word)
    if vim.startswith(key, ':') then return key end
    return ('%s%s %s'):format(escape, key, word)
  end
  local is_to_fill_in = not any(cards, can_be_allowed)
  parts[1] = is_to_fill_in and ':Acp permissions' or label(answer.allow, 'allow')
  if any(cards, can_be_denied) then parts[2] = label(answer.deny, 'deny') end
  if parts[2] and text_width(parts[1] .. SEPARATOR .. parts[2]) > room then
    local are_commands = parts[1] == ':Acp allow' and parts[2] == ':Acp deny'
    local keys = not is_to_fill_in and joined_keys(escape .. answer.allow, escape .. answer.deny)
    local are_fitting = keys and text_width(keys) <= room
    parts = { are_commands and ':Acp allow/deny' or are_fitting and keys or ':Acp permissions' }
  end
  if shows_edits(cards) and #require('acp.base.state').edits() == 0 then
    parts[#parts + 1] = ':Acp review'
  end
  return parts
end

--- Return the parts, and a hint at mappings if the user has none. Only the first question of this
--- Neovim shows the hint, as long as it is pending.
---@param parts string[]
---@param cards acp.Card[]
---@param room integer
local function with_hint(parts, cards, room)
  local has_hint = any(cards, function(card) return card.id == hinted end)
  local line = fitting(parts, room)
  if answers().mapped or (hinted ~= nil and not has_hint) then return line end
  for _, hint in ipairs(HINTS) do
    local longer = line .. SEPARATOR .. hint
    if text_width(longer) <= room then
      hinted = hinted or (cards[1] or {}).id
      return longer
    end
  end
  return line
end

---@param cards acp.Card[] oldest first
function M.update(cards)
  known, cached_answers, oldest = {}, nil, (cards[1] or {}).id
  for _, card in ipairs(cards) do
    known[card.id] = card
  end
  if #cards == 0 then require('acp.base.signals').emit('questions_changed') end
end

--- Return the footer of the float with the cursor in it.
---@param cards acp.Card[]
---@param room integer
---@return string
function M.footer_inside(cards, room)
  local keys = fitting(keys_on_card(cards), room - 2)
  return (' %s '):format(keys)
end

--- Return the footer of the float with the cursor elsewhere.
---@param cards acp.Card[]
---@param more integer hidden rows
---@param room integer
---@return string
function M.footer(cards, more, room)
  local parts = keys_elsewhere(cards, room - 2)
  if more > 0 then
    local lines = ('+%d lines'):format(more)
    local longer = lines .. ', :Acp permissions'
    parts = vim.tbl_filter(function(part) return part ~= ':Acp permissions' end, parts)
    local answering = table.concat(parts, SEPARATOR, 1, math.min(#parts, 2))
    local is_fitting = text_width(answering .. SEPARATOR .. longer) <= room - 2
    table.insert(parts, math.min(#parts, 2) + 1, is_fitting and longer or lines)
  end
  return (' %s '):format(with_hint(parts, cards, room - 2))
end

--- Return the keys or commands for a message.
---@param card acp.Card
---@param room integer
function M.message(card, room) return with_hint(keys_elsewhere({ card }, room), { card }, room) end

--- Return the text of the row below a card in a chat.
---@param id integer|string
---@param room integer cells
---@return string
function M.text_below_card(id, room)
  local card = known[id]
  if not card then return '' end
  local keys = id == here and keys_on_card({ card }) or {}
  if #keys > 0 then return fitting(keys, room) end
  if oldest ~= id then return ':Acp permissions' end
  return with_hint(keys_elsewhere({ card }, room), { card }, room)
end

--- Set the card of a chat that the cursor is on, nil for none, and record the mode.
---@param id integer|string|nil
---@return boolean changed
function M.enter(id)
  local before, inserted = here, was_inserting
  here, was_inserting = id, is_inserting()
  return here ~= before or was_inserting ~= inserted
end

return M
