--- Registry of the chats that have a buffer, by session and by buffer.
local M = {}

---@class acp.Chat
---@field n integer
---@field bufnr integer
---@field highlights table<integer, acp.RowHighlights> by row, from 1
---@field targets table<integer, table|integer> by row, from 1: target of <CR>
---@field colours table<integer, integer[]> by row, from 1: column, end column and highlight id of
--- each span of its language, see `acp.features.chat.blocks`
---@field blocks? boolean whether a row may belong to a block of `acp.features.chat.blocks`
---@field folds acp.Fold[]
---@field last_length integer bytes of the last row that was written
---@field has_long_row? boolean whether a row was too long for 'linebreak', see the view
---@field awaited? boolean whether the host has been asked to draw it again
---@field others? boolean whether another plugin has drawn its Markdown

M.chats = {} ---@type table<integer, acp.Chat> by session number
local by_buffer = {} ---@type table<integer, acp.Chat>

---@param chat acp.Chat
function M.add(chat)
  M.chats[chat.n], by_buffer[chat.bufnr] = chat, chat
end

---@param chat acp.Chat
function M.forget(chat)
  M.chats[chat.n], by_buffer[chat.bufnr] = nil, nil
end

---@return integer? bufnr
function M.bufnr(n) return M.chats[n] and M.chats[n].bufnr end

--- Return the session number of a chat's buffer.
---@return integer?
function M.number(bufnr) return by_buffer[bufnr] and by_buffer[bufnr].n end

---@return acp.Chat?
function M.of(bufnr) return by_buffer[bufnr] end

return M
