--- Which decisions the user sees without their float.
local M = {}

local api = vim.api

local reviewed ---@type fun(): integer|string|nil

--- The review registers here: it shows a decision otherwise than by a card.
---@param shows fun(): integer|string|nil the decision's id
function M.shown_by(shows) reviewed = shows end

--- The decision that the current window is about: the form that it asks for, all that it asks, or
--- the review of the edits that it would allow.
---@return integer|string|nil id
function M.subject()
  local name = api.nvim_buf_get_name(0)
  return reviewed and reviewed()
    or name:match('^acp://form/(.+)')
    or name:match('^acp://question/(.+)')
end

--- The same, if its window shows all that the question tells.
---@param cards acp.Card[]
---@return integer|string|nil id
local function whole_subject(cards)
  local shown = reviewed and reviewed()
  for _, card in ipairs(cards) do
    if card.id == shown and card.more then return nil end
  end
  return M.subject()
end

--- Decisions whose cards a window shows as a whole.
---@return table<string, true> by id
local function shown(win)
  local chat = require('acp.ui.chat.buffers').of(api.nvim_win_get_buf(win))
  return chat
      and api.nvim_win_call(win, function()
        local first, last = vim.fn.line('w0') - 1, vim.fn.line('w$') - 1
        -- With 'smoothscroll' the first line may have its beginning out of sight.
        if vim.fn.winsaveview().skipcol > 0 then first = first + 1 end
        return require('acp.ui.chat.marks').cards(chat, first, last)
      end)
    or {}
end

---@param found table<integer|string, any>
---@param cards acp.Card[]
local function all(found, cards)
  return vim.iter(cards):all(function(card) return found[card.id] ~= nil end)
end

--- Whether all of them are in view where the user is (`'here'`: in the chat, a form or a review),
--- or in chats of this tab page (`'beside'`), each from its first row to its last.
---@param cards acp.Card[]
---@return 'here'|'beside'|nil
function M.where(cards)
  local found = shown(api.nvim_get_current_win())
  local about = whole_subject(cards)
  if about then found[about] = true end
  if all(found, cards) then return 'here' end
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    found = vim.tbl_extend('force', found, shown(win))
  end
  return all(found, cards) and 'beside' or nil
end

--- Ids of the decisions that the windows of this tab page show: whole cards in chats that no float
--- covers, and the subject of the current window.
---@return table<integer|string, true>
function M.ids()
  local found, about = {}, M.subject()
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    local chat = require('acp.ui.chat.buffers').of(api.nvim_win_get_buf(win))
    if chat and not require('acp.ui.win').is_covered(win) then
      found = vim.tbl_extend('force', found, shown(win))
    end
  end
  if about then found[about] = true end
  return found
end

return M
