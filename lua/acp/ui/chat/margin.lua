--- What stands before each row of a chat: two cells, with a rule before those of the user.
---
--- 'statuscolumn' draws the rule, also where a row is broken. While a window has it, Neovim draws
--- all its rows anew whenever its cursor comes to another line: with each frame, where a chat is
--- followed. So a window has it only as long as rows of the user's are in it. Else its sign column
--- stands there, which is as wide, and empty.
local M = {}

local api = vim.api
local set = require('acp.ui.win').set

--- What marks a row of the user's, and what is drawn before it.
local USER, RULE = 'AcpUserRule', '%#AcpUserRule#┃ '

local BEFORE = "%!v:lua.require'acp.ui.chat.margin'.before()"

--- Options of a window that comes to show a chat.
M.options = { statuscolumn = BEFORE, signcolumn = 'yes:1' }

local due = {} ---@type table<integer, fun()> by window: what changes its margin in a moment

---@param look? acp.Look
local function is_user(look) return look ~= nil and look[3] == USER end

---@param chat acp.Chat
local function has_rule(chat, first, last)
  for row = first + 1, last + 1 do
    if is_user(chat.looks[row]) then return true end
  end
  return false
end

---@param from string
---@param to string
local function swap(win, from, to)
  local now = api.nvim_get_option_value('statuscolumn', { win = win, scope = 'local' })
  if now == from then set(win, 'statuscolumn', to) end -- else it is the user's own
end

--- A window is being drawn, with these rows of a chat.
---@param chat acp.Chat
function M.seen(chat, win, first, last)
  local now = api.nvim_get_option_value('statuscolumn', { win = win, scope = 'local' })
  local wanted = has_rule(chat, first, last) and BEFORE or ''
  if now == wanted or due[win] then return end
  local function change()
    if due[win] ~= change then return end -- the user's rows have come since
    due[win] = nil
    local valid = api.nvim_win_is_valid(win) and api.nvim_win_get_buf(win) == chat.bufnr
    if valid then swap(win, wanted == '' and BEFORE or '', wanted) end
  end
  due[win] = change
  vim.schedule(change) -- no option can be set while windows are drawn
end

--- Rows with these looks have come: the rule is there when the user's are drawn.
---@param chat acp.Chat
---@param looks acp.Look[]
function M.came(chat, looks)
  if not vim.iter(looks):any(is_user) then return end
  for _, win in ipairs(vim.fn.win_findbuf(chat.bufnr)) do
    due[win] = nil
    swap(win, '', BEFORE)
  end
end

--- What stands before a row of the window that is being drawn: 'statuscolumn'.
---@return string
function M.before()
  local chat = require('acp.ui.chat.buffers').of(api.nvim_win_get_buf(vim.g.statusline_winid))
  return chat and is_user(chat.looks[vim.v.lnum]) and RULE or '  '
end

return M
