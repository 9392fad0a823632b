--- Margin of a chat: two cells before each row, with a rule before the user's rows.
---
--- 'statuscolumn' draws the rule, even before wrapped lines. While a window has a 'statuscolumn',
--- Neovim redraws all its rows whenever the cursor moves to another line, which is with each frame
--- if the window follows the chat. So the option is set only while the user's rows are in view.
--- Otherwise an empty sign column of the same width takes its place.
local M = {}

local api = vim.api
local set = require('acp.ui.win').set

--- Highlight group that marks one of the user's rows, and the text drawn before it.
local USER, RULE = 'AcpUserRule', '%#AcpUserRule#┃ '

local BEFORE = "%!v:lua.require'acp.features.chat.margin'.before()"

--- Options of a window that starts to show a chat.
M.options = { statuscolumn = BEFORE, signcolumn = 'yes:1' }

local due = {} ---@type table<integer, fun()> by window: scheduled change to its margin

---@param highlights? acp.RowHighlights
local function is_user(highlights) return highlights ~= nil and highlights[3] == USER end

--- Return whether one of these rows is the user's.
---@param highlights table<integer, acp.RowHighlights>
---@param first integer
---@param last integer
local function has_user(highlights, first, last)
  for i = first, last do
    if is_user(highlights[i]) then return true end
  end
  return false
end

---@param from string
---@param to string
local function swap(win, from, to)
  local now = api.nvim_get_option_value('statuscolumn', { win = win, scope = 'local' })
  if now == from then set(win, 'statuscolumn', to) end -- otherwise the user has set it
end

--- Schedule a change to the margin if needed. Called while a window draws these rows of a chat.
---@param chat acp.Chat
function M.on_drawn(chat, win, first, last)
  local now = api.nvim_get_option_value('statuscolumn', { win = win, scope = 'local' })
  local wanted = has_user(chat.highlights, first + 1, last + 1) and BEFORE or ''
  if now == wanted or due[win] then return end
  local function change()
    if due[win] ~= change then return end -- the user's rows have arrived since
    due[win] = nil
    local is_valid = api.nvim_win_is_valid(win) and api.nvim_win_get_buf(win) == chat.bufnr
    if is_valid then swap(win, wanted == '' and BEFORE or '', wanted) end
  end
  due[win] = change
  vim.schedule(change) -- no option can be set while windows are drawn
end

--- Set 'statuscolumn' if the user's rows arrive, so that they are drawn with the rule.
---@param chat acp.Chat
---@param highlights acp.RowHighlights[]
function M.show_rule_for(chat, highlights)
  if not has_user(highlights, 1, #highlights) then return end
  for _, win in ipairs(vim.fn.win_findbuf(chat.bufnr)) do
    due[win] = nil
    swap(win, '', BEFORE)
  end
end

--- 'statuscolumn': return the margin of the row that is being drawn.
---@return string
function M.before()
  local chat = require('acp.ui.chats').of(api.nvim_win_get_buf(vim.g.statusline_winid))
  return chat and is_user(chat.highlights[vim.v.lnum]) and RULE or '  '
end

return M
