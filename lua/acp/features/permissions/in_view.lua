--- Questions that the user sees without the float.
local M = {}

local api = vim.api

local emit = require('acp.base.signals').emit

--- Return the question that the current window shows: as a form, as its full text, or as the review
--- of its edits.
---@return integer|string|nil id
function M.subject()
  local name = api.nvim_buf_get_name(0)
  return emit('question_shown')
    or name:match('^acp://form/(.+)')
    or name:match('^acp://question/(.+)')
end

--- Return the question that the current window shows as a whole.
---@param cards acp.Card[]
---@return integer|string|nil id
local function whole_subject(cards)
  local shown = emit('question_shown')
  for _, card in ipairs(cards) do
    if card.id == shown and card.more then return nil end
  end
  return M.subject()
end

--- Return whether a window may show cards: a chat, or another buffer of the plugin.
local function may_show(win)
  return vim.startswith(api.nvim_buf_get_name(api.nvim_win_get_buf(win)), 'acp://')
end

--- Return the questions whose cards a window shows as a whole. Without 'wrap' the end of
--- a long line may be out of view.
---@return table<string, true> by id
local function questions_in_view(win)
  local questions = {}
  if not may_show(win) or not vim.wo[win].wrap then return questions end
  local cards = api.nvim_win_call(win, function()
    local first, last = vim.fn.line('w0') - 1, vim.fn.line('w$') - 1
    -- With 'smoothscroll' the beginning of the first line may be out of view.
    if vim.fn.winsaveview().skipcol > 0 then first = first + 1 end
    return emit('questions_in_rows', api.nvim_win_get_buf(win), first, last) or {}
  end)
  local are_covered = require('acp.ui.win').are_covered
  for id, lines in pairs(cards) do
    if not are_covered(win, lines[1], lines[2], 'acppermission') then questions[id] = true end
  end
  return questions
end

--- Return the question whose card is under the cursor of a chat, unless a closed fold or a float
--- hides it. Lines of the card may be out of view.
---@return string|nil id
local function at_cursor()
  local win = api.nvim_get_current_win()
  local chat = require('acp.ui.chats').of(api.nvim_win_get_buf(win))
  if not chat or vim.fn.foldclosed('.') > 0 then return nil end
  local function decision(line) return emit('question_at_row', chat, line - 1) end
  local first, last = vim.fn.line('.'), vim.fn.line('.')
  local id = decision(first)
  while first > vim.fn.line('w0') and decision(first - 1) == id do
    first = first - 1
  end
  -- Before the next redraw, `w$` may be below the last line.
  while last < math.min(vim.fn.line('w$'), vim.fn.line('$')) and decision(last + 1) == id do
    last = last + 1
  end
  local are_covered = require('acp.ui.win').are_covered
  return not are_covered(win, first, last, 'acppermission') and id or nil
end

--- Return whether the cards of all these questions are among `shown`.
---@param shown table<integer|string, any> by id
---@param cards acp.Card[]
local function are_shown(shown, cards)
  return vim.iter(cards):all(function(card) return shown[card.id] ~= nil end)
end

--- Return `'here'` if the current window (a chat, a form or a review) shows all of the cards as a
--- whole, `'beside'` if the windows of this tab page do.
---@param cards acp.Card[]
---@return 'here'|'beside'|nil
function M.where(cards)
  local questions = questions_in_view(api.nvim_get_current_win())
  local about = whole_subject(cards)
  if about then questions[about] = true end
  if are_shown(questions, cards) then return 'here' end
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    questions = vim.tbl_extend('force', questions, questions_in_view(win))
  end
  return are_shown(questions, cards) and 'beside' or nil
end

--- Return the ids of the questions that the windows of this tab page show: whole cards that no
--- float covers, the card of a chat under the cursor, and the subject of the current window.
---@return table<integer|string, true>
function M.ids()
  local ids = {}
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    if may_show(win) and not require('acp.ui.win').is_covered(win) then
      ids = vim.tbl_extend('force', ids, questions_in_view(win))
    end
  end
  for _, id in pairs({ M.subject(), at_cursor() }) do
    ids[id] = true
  end
  return ids
end

return M
