--- Highlights of the rows of a chat, and their targets, which say what <CR> does there.
--- Both are kept here by row. A mark of Neovim's for each would cost a frame more than all else in
--- it; so rows get their looks when they are drawn, and those that nobody sees cost nothing.
local M = {}

local api = vim.api
local ns = api.nvim_create_namespace('acp.chat')

---@alias acp.Look any[] column, end column (bytes) and group of each span of a row

local chats = {} ---@type table<integer, acp.Chat> by buffer
local drawn ---@type table<integer, acp.Look> of the chat whose window is being drawn
local window, columns = 0, 0 -- that window, and how wide its text is

--- Group names to ids: a name would be looked up again for each of many spans.
local groups = setmetatable({}, {
  __index = function(self, name)
    local id = api.nvim_get_hl_id_by_name(name)
    self[name] = id
    return id
  end,
})

--- Bytes at both ends of a span that nobody wants to read: they are seen in the cursor's line.
local MARKUP = { AcpStrong = 2, AcpEmphasis = 1 }

local function conceal(bufnr, row, first, last, bytes)
  for _, col in ipairs({ first, last - bytes }) do
    local options = { end_col = col + bytes, conceal = '', ephemeral = true, strict = false }
    api.nvim_buf_set_extmark(bufnr, ns, row, col, options)
  end
end

---@param _ 'line'
---@param _ integer window
local function line(_, _, bufnr, row)
  local look = drawn[row + 1]
  if not look then return end
  local set_extmark, options = api.nvim_buf_set_extmark, { ephemeral = true, strict = false }
  for i = 1, #look, 3 do
    local first, last, group = look[i], look[i + 1], look[i + 2]
    options.end_col, options.hl_group = last, groups[group]
    set_extmark(bufnr, ns, row, first, options)
    if MARKUP[group] then conceal(bufnr, row, first, last, MARKUP[group]) end
  end
end

---@return integer cells
local function measured(win)
  local info = vim.fn.getwininfo(win)[1]
  return info.width - info.textoff
end

api.nvim_set_decoration_provider(ns, {
  on_win = function(_, win, bufnr)
    local chat = chats[bufnr]
    if chat then
      drawn, window, columns = chat.looks, win, measured(win)
    end
    return chat ~= nil
  end,
  on_end = function() window = 0 end,
  on_line = line,
})

--- Draw a chat's rows from now on.
---@param chat acp.Chat
function M.watch(chat) chats[chat.bufnr] = chat end

--- Its buffer is gone.
---@param chat acp.Chat
function M.forget(chat) chats[chat.bufnr] = nil end

---@param rows table<integer, any> by row, from 1
local function splice(rows, first, last, shift, total)
  if shift ~= 0 and last < total then table.move(rows, last + 1, total, last + 1 + shift) end
  for row = first + 1, last + shift do
    rows[row] = nil
  end
  for row = total + shift + 1, total do
    rows[row] = nil
  end
end

--- Rows [first, last) of a chat that had `total` of them became `count` rows: bare ones.
---@param chat acp.Chat
---@param total integer
function M.splice(chat, first, last, count, total)
  local shift = count - (last - first)
  splice(chat.looks, first, last, shift, total)
  splice(chat.targets, first, last, shift, total)
end

--- Lay over rows what the host tells of them.
---@param chat acp.Chat
---@param first integer row (from 0) that the others are relative to
---@param decor {[1]: acp.Look[], [2]: integer[], [3]: any[]} looks; row and look, row and target
function M.set(chat, first, decor)
  local looks, looked, targets = decor[1], decor[2], decor[3]
  for i = 1, #looked, 2 do
    chat.looks[first + looked[i] + 1] = looks[looked[i + 1]]
  end
  for i = 1, #targets, 2 do
    chat.targets[first + targets[i] + 1] = targets[i + 1]
  end
end

--- How wide a window's text is: not asked for again while it is being drawn.
---@return integer cells
function M.columns(win) return win == window and columns or measured(win) end

--- How a row looks: a plain one is empty.
---@return acp.Look
function M.look(bufnr, row) return chats[bufnr] and chats[bufnr].looks[row + 1] or {} end

--- A target as a table: a number stands for a tool call, counted from 0.
local function meaning(data)
  return type(data) == 'number' and { kind = 'tool', call = data } or data --[[@as table]]
end

--- The target of a row.
---@param chat acp.Chat
---@return table? data
function M.at(chat, row)
  local data = chat.targets[row + 1]
  return data and meaning(data)
end

--- Decisions whose cards stand in rows `first` to `last` from their first row to their last.
---@param chat acp.Chat
---@return table<string, true> by id
function M.cards(chat, first, last)
  local began, found = {}, {}
  for row = first + 1, last + 1 do
    local data = chat.targets[row]
    local id = type(data) == 'table' and vim.fn.foldclosed(row) < 0 and data.decision
    if id then
      began[id] = began[id] or data.first
      found[id] = began[id] and data.last or found[id]
    end
  end
  return found
end

--- Rows that lead to something of a kind, in order.
---@param chat acp.Chat
---@return integer[]
function M.rows(chat, kind)
  local rows = {}
  for row = 1, api.nvim_buf_line_count(chat.bufnr) do
    local data = chat.targets[row]
    if data and meaning(data).kind == kind then rows[#rows + 1] = row - 1 end
  end
  return rows
end

return M
