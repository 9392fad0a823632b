--- Text of the float: its title, and the cards with their sessions.
local M = {}

local cards = require('acp.features.permissions.cards')
local text_width = require('acp.base.text.width')

local INDENT = 2 -- cells of the rows below a title
local MAX_LABEL = 60 -- cells of the line that names a session

---@class acp.CardRow
---@field first integer 0-based
---@field last integer 0-based, inclusive
---@field id integer|string
---@field option? integer row of its first option

---@class acp.PageCut
---@field rows integer maximum rows of a card
---@field width integer
---@field inside boolean whether the cursor is in the float

--- Return a card without its first line, which is the title of the float.
---@param card acp.Card
---@return acp.Card
local function without_title(card)
  local lines, spans = {}, {}
  local indents = {}
  for i = 2, #card.lines do
    indents[i - 1] = math.min(#card.lines[i]:match('^ *'), INDENT)
    lines[i - 1] = card.lines[i]:sub(indents[i - 1] + 1)
  end
  for _, span in ipairs(card.spans or {}) do
    local shift = indents[span[1]]
    if shift then
      local first, last = math.max(span[2] - shift, 0), span[3] - shift
      if last > first then spans[#spans + 1] = { span[1] - 1, first, last, span[4] } end
    end
  end
  local head = card.head and card.head - 1
  local lead = card.lead and card.lead - 1
  local own = { lines = lines, spans = spans, head = head, lead = lead, title_rows = 1 }
  return vim.tbl_extend('force', card, own)
end

--- Return the card whose title is the title of the float: a single card whose title fits.
---@param room integer maximum width of the float
---@return acp.Card|nil
local function card_of_title(room)
  local list = cards.list()
  local card = #list == 1 and cards.count_without_card() == 0 and list[1] or nil
  local width = card and text_width(card.title or '') or 0
  return width > 0 and width + 2 <= room and card or nil
end

--- Return the title of the float.
---@param room integer
---@return string
function M.title(room)
  local card = card_of_title(room)
  if card then return (' %s '):format(card.title) end
  local count = #cards.list() + cards.count_without_card()
  return count == 1 and ' question ' or (' %d questions '):format(count)
end

--- Return the cards as the float shows them.
---@param room integer
---@return acp.Card[]
function M.cards(room)
  local card = card_of_title(room)
  return card and { without_title(card) } or cards.list()
end

--- Return the line below the last card.
---@return string
function M.more_line() return ('… and %d more'):format(cards.count_without_card()) end

--- Return the line above a card that names its session: if there are several sessions, for an
--- inline edit, which has no chat, and for a session in a worktree, which has files of the same
--- names.
---@param card acp.Card
---@param several boolean
---@param width integer
---@return string|nil
local function session_line(card, several, width)
  local session = require('acp.base.state').get().sessions[card.session]
  local branch = session and session.worktree and session.worktree.branch
  local is_elsewhere = session and (session.purpose == 'edit' or branch)
  if not several and not is_elsewhere then return nil end
  local label = card.session == 0 and 'no session' or 'session ' .. card.session
  local title = branch and 'worktree ' .. branch or session and (session.title or session.topic)
  local notify = require('acp.base.notify')
  return title and notify.cut(label .. ' · ' .. notify.one_line(title), width) or label
end

--- Return the text of the float: all cards, with the lines that name their sessions.
---@param room integer
---@param cut? acp.PageCut if given, the middle of a card that takes more rows is cut
---@return string[] lines
---@return acp.Span[] spans
---@return acp.CardRow[] rows
function M.text(room, cut)
  local lines, spans, rows = {}, {}, {}
  local has_several = cards.count_sessions() > 1
  for i, card in ipairs(M.cards(room)) do
    if i > 1 then lines[#lines + 1] = '' end
    local first = #lines
    local label = session_line(card, has_several, math.min(room, MAX_LABEL))
    if label then
      spans[#spans + 1] = { #lines, 0, #label, 'AcpMuted' }
      lines[#lines + 1] = label
    end
    local shown = card
    if cut then
      local limit = label and cut.rows - 1 or cut.rows
      shown =
        require('acp.features.permissions.card_fitting').card(card, cut.width, limit, cut.inside)
    end
    for _, span in ipairs(shown.spans or {}) do
      spans[#spans + 1] = { span[1] + #lines, span[2], span[3], span[4] }
    end
    local option = shown.head and #lines + shown.head
    vim.list_extend(lines, shown.lines)
    rows[#rows + 1] = { first = first, last = #lines - 1, id = card.id, option = option }
  end
  if cards.count_without_card() > 0 then
    vim.list_extend(lines, { '', M.more_line() })
    spans[#spans + 1] = { #lines - 1, 0, #lines[#lines], 'AcpMuted' }
  end
  return lines, spans, rows
end

return M
