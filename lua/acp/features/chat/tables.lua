--- Alignment of the columns of Markdown tables, with virtual text.
local M = {}

local text_width = require('acp.base.text.width')
local api = vim.api
local ns = api.nvim_create_namespace('acp.chat.tables')

--- Return the byte offsets at which the cells of a line end: before each `|` except the first.
---@param line string
---@return integer[]
local function ends(line)
  local offsets, code = {}, false
  for at in line:gmatch('()[|`]') do
    if line:sub(at, at) == '`' then
      code = not code
    elseif not code and line:sub(at - 1, at - 1) ~= '\\' then
      offsets[#offsets + 1] = at - 1
    end
  end
  table.remove(offsets, 1)
  return offsets
end

--- Return the screen width of a part of a row, without concealed text.
---@param highlights acp.RowHighlights
---@param line string
local function width(highlights, line, first, last)
  local conceal = require('acp.ui.conceal')
  local cells = text_width(line:sub(first + 1, last))
  for i = 1, #highlights, 3 do
    local group = highlights[i + 2]
    if
      group ~= 'AcpTable'
      and highlights[i] >= first
      and highlights[i + 1] <= last
      and conceal.has(group)
    then
      for _, part in ipairs(conceal.of(group, line, highlights[i], highlights[i + 1])) do
        cells = cells - text_width(line:sub(part[1] + 1, part[2])) + #(part[3] or ''):sub(1, 1)
      end
    end
  end
  return cells
end

--- Return the width of each column, and the end and width of each table cell.
---@param chat acp.Chat
---@param first integer row
---@param lines string[]
local function measure(chat, first, lines)
  local widest, rows = {}, {}
  for i, line in ipairs(lines) do
    rows[i] = {}
    local start = 0
    for n, stop in ipairs(ends(line)) do
      local cells = width(chat.highlights[first + i] or {}, line, start, stop)
      rows[i][n] = { stop = stop, cells = cells, between = line:match('^|[-:| ]+$') ~= nil }
      widest[n] = math.max(widest[n] or 0, cells)
      start = stop
    end
  end
  return widest, rows
end

--- Return the text width of the narrowest window that shows a buffer.
local function narrowest_width(bufnr)
  local room = math.huge
  for _, win in ipairs(vim.fn.win_findbuf(bufnr)) do
    room = math.min(room, require('acp.ui.win').text_columns(win))
  end
  return room
end

--- Draw blanks, or a rule, at the end of a cell.
local function extend_cell(bufnr, row, cell, count)
  if count <= 0 then return end
  api.nvim_buf_set_extmark(bufnr, ns, row, cell.stop, {
    virt_text = { { (cell.between and '─' or ' '):rep(count), 'AcpTable' } },
    virt_text_pos = 'inline',
  })
end

--- Align a table. If it is wider than a window, draw only the rule under its head, since padded
--- cells would wrap.
---@param chat acp.Chat
---@param first integer row
---@param lines string[]
function M.pad(chat, first, lines)
  api.nvim_buf_clear_namespace(chat.bufnr, ns, first, first + #lines)
  if require('acp.ui.conceal').others(chat.bufnr) then return end
  local widest, rows = measure(chat, first, lines)
  local whole, room = 1, narrowest_width(chat.bufnr)
  for _, cells in ipairs(widest) do
    whole = whole + cells
  end
  for i, row in ipairs(rows) do
    local last = row[#row]
    if whole > room and last and last.between then
      extend_cell(chat.bufnr, first + i - 1, last, room - api.nvim_strwidth(lines[i]))
    end
    for n, cell in ipairs(whole <= room and row or {}) do
      extend_cell(chat.bufnr, first + i - 1, cell, widest[n] - cell.cells)
    end
  end
end

--- Remove the alignment, because another plugin draws the tables.
---@param chat acp.Chat
function M.clear(chat)
  if api.nvim_buf_is_loaded(chat.bufnr) then api.nvim_buf_clear_namespace(chat.bufnr, ns, 0, -1) end
end

return M
