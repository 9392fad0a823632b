--- What is laid over the rows of a chat: highlights, and targets that say what <CR> does there.
local M = {}

local api = vim.api
local ns = api.nvim_create_namespace('acp.chat')
local ns_targets = api.nvim_create_namespace('acp.chat.targets')

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

---@param bufnr integer
---@param row integer
---@param first integer
---@param last integer
---@param bytes integer
local function conceal(bufnr, row, first, last, bytes)
  for _, col in ipairs({ first, last - bytes }) do
    local options = { end_col = col + bytes, conceal = '', strict = false }
    api.nvim_buf_set_extmark(bufnr, ns, row, col, options)
  end
end

---@param bufnr integer
---@param row integer what the rows are relative to
---@param spans any[] row, column, end column and group of one after the other
function M.spans(bufnr, row, spans)
  local set_extmark, options = api.nvim_buf_set_extmark, { strict = false }
  for i = 1, #spans, 4 do
    options.end_col, options.hl_group = spans[i + 2], groups[spans[i + 3]]
    set_extmark(bufnr, ns, row + spans[i], spans[i + 1], options)
    if MARKUP[spans[i + 3]] then
      conceal(bufnr, row + spans[i], spans[i + 1], spans[i + 2], MARKUP[spans[i + 3]])
    end
  end
end

---@param chat acp.Chat
---@param row integer what the rows are relative to
---@param targets any[] row, last row and data of one after the other
function M.targets(chat, row, targets)
  local options = { end_right_gravity = false, strict = false }
  for i = 1, #targets, 3 do
    options.end_row = row + targets[i + 1] + 1
    local mark = api.nvim_buf_set_extmark(chat.bufnr, ns_targets, row + targets[i], 0, options)
    chat.targets[mark] = targets[i + 2]
  end
end

--- Take the highlights of a row away.
---@param bufnr integer
---@param row integer
function M.clear_spans(bufnr, row)
  api.nvim_buf_clear_namespace(bufnr, ns, row, row + 1)
end

--- Take everything away from rows [first, last).
---@param chat acp.Chat
---@param first integer
---@param last integer
function M.clear(chat, first, last)
  api.nvim_buf_clear_namespace(chat.bufnr, ns, first, last)
  local found = api.nvim_buf_get_extmarks(chat.bufnr, ns_targets, { first, 0 }, { last, -1 }, {})
  for _, mark in ipairs(found) do
    if mark[2] < last then
      chat.targets[mark[1]] = nil
      api.nvim_buf_del_extmark(chat.bufnr, ns_targets, mark[1])
    end
  end
end

--- What a target's data says: a number is a tool call, from 0.
---@param data table|integer
---@return table
local function meaning(data)
  return type(data) == 'number' and { kind = 'tool', call = data } or data --[[@as table]]
end

--- The innermost target of a row.
---@param chat acp.Chat
---@param row integer
---@return table? data
function M.at(chat, row)
  local found = api.nvim_buf_get_extmarks(chat.bufnr, ns_targets, { row, 0 }, { row, 0 }, {
    details = true,
    overlap = true,
  })
  local best, best_size
  for _, mark in ipairs(found) do
    local size = (mark[4].end_row or mark[2] + 1) - mark[2]
    if mark[2] <= row and row < mark[2] + size and (not best or size <= best_size) then
      best, best_size = chat.targets[mark[1]], size
    end
  end
  return best and meaning(best)
end

--- Decisions whose cards stand in rows `first` to `last` from their first row to their last.
---@param chat acp.Chat
---@param first integer
---@param last integer
---@return table<string, true> by id
function M.cards(chat, first, last)
  local began, found = {}, {}
  local marks = api.nvim_buf_get_extmarks(chat.bufnr, ns_targets, { first, 0 }, { last, -1 }, {})
  for _, mark in ipairs(marks) do
    local data = chat.targets[mark[1]]
    local id = type(data) == 'table' and vim.fn.foldclosed(mark[2] + 1) < 0 and data.decision
    if id then
      began[id] = began[id] or data.first
      found[id] = began[id] and data.last or found[id]
    end
  end
  return found
end

--- Rows at which targets of a kind begin, in order.
---@param chat acp.Chat
---@param kind string
---@return integer[]
function M.rows(chat, kind)
  local rows = {}
  for _, mark in ipairs(api.nvim_buf_get_extmarks(chat.bufnr, ns_targets, 0, -1, {})) do
    local data = chat.targets[mark[1]]
    if data and meaning(data).kind == kind then
      rows[#rows + 1] = mark[2]
    end
  end
  return rows
end

return M
