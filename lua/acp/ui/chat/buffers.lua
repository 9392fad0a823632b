--- The chats that have a buffer, by session and by buffer.
local M = {}

---@class acp.Chat
---@field n integer
---@field bufnr integer
---@field looks table<integer, acp.Look> by row, from 1
---@field targets table<integer, table|integer> by row, from 1: what <CR> does there
---@field colours table<integer, integer[]> by row, from 1: column, end column and highlight of its
--- language's colours, see `acp.ui.chat.blocks`
---@field blocks? boolean whether any of its rows may be of a block there
---@field folds acp.Fold[]
---@field open integer bytes of the row that grew last
---@field long boolean whether it holds a row longer than LONG
---@field awaited? boolean
---@field others? boolean whether another plugin has drawn its Markdown

M.chats = {} ---@type table<integer, acp.Chat> by our number of the session
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

--- Number of the session whose chat a buffer is.
---@return integer?
function M.number(bufnr) return by_buffer[bufnr] and by_buffer[bufnr].n end

---@return acp.Chat?
function M.of(bufnr) return by_buffer[bufnr] end

return M
