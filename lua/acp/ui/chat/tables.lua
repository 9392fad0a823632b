--- Columns of Markdown's tables, by blanks that are drawn and not there.
local M = {}

local text_width = require('acp.base.text_width')
local api = vim.api
local ns = api.nvim_create_namespace('acp.chat.tables')

--- Bytes of a line at which its cells end: before each `|` but the first.
---@param line string
---@return integer[]
local function ends(line)
  local found, code = {}, false
  for at in line:gmatch('()[|`]') do
    if line:sub(at, at) == '`' then
      code = not code
    elseif not code and line:sub(at - 1, at - 1) ~= '\\' then
      found[#found + 1] = at - 1
    end
  end
  table.remove(found, 1)
  return found
end

--- Cells that bytes of a row take, without what is concealed there.
---@param look acp.Look
---@param line string
local function width(look, line, first, last)
  local conceal = require('acp.ui.chat.conceal')
  local cells = text_width(line:sub(first + 1, last))
  for i = 1, #look, 3 do
    local group = look[i + 2]
    if group ~= 'AcpTable' and look[i] >= first and look[i + 1] <= last and conceal.has(group) then
      for _, part in ipairs(conceal.of(group, line, look[i], look[i + 1])) do
        cells = cells - text_width(line:sub(part[1] + 1, part[2])) + #(part[3] or ''):sub(1, 1)
      end
    end
  end
  return cells
end

--- How wide each column is, and where the cells of each line end and how wide they are.
---@param chat acp.Chat
---@param first integer row
---@param lines string[]
local function measured(chat, first, lines)
  local widest, rows = {}, {}
  for i, line in ipairs(lines) do
    rows[i] = {}
    local start = 0
    for n, stop in ipairs(ends(line)) do
      local cells = width(chat.looks[first + i] or {}, line, start, stop)
      rows[i][n] = { stop = stop, cells = cells, between = line:match('^|[-:| ]+$') ~= nil }
      widest[n] = math.max(widest[n] or 0, cells)
      start = stop
    end
  end
  return widest, rows
end

--- Align a table, unless it would be wider than a window that shows it.
---@param chat acp.Chat
---@param first integer row
---@param lines string[]
function M.pad(chat, first, lines)
  api.nvim_buf_clear_namespace(chat.bufnr, ns, first, first + #lines)
  if require('acp.ui.chat.conceal').others(chat.bufnr) then return end
  local widest, rows = measured(chat, first, lines)
  local whole = 1
  for _, cells in ipairs(widest) do
    whole = whole + cells
  end
  for _, win in ipairs(vim.fn.win_findbuf(chat.bufnr)) do
    if require('acp.ui.win').text_columns(win) < whole then return end
  end
  for i, row in ipairs(rows) do
    for n, cell in ipairs(row) do
      local missing = widest[n] - cell.cells
      if missing > 0 then
        api.nvim_buf_set_extmark(chat.bufnr, ns, first + i - 1, cell.stop, {
          virt_text = { { (cell.between and '─' or ' '):rep(missing), 'AcpTable' } },
          virt_text_pos = 'inline',
        })
      end
    end
  end
end

--- Another plugin draws them now.
---@param chat acp.Chat
function M.leave(chat)
  if api.nvim_buf_is_loaded(chat.bufnr) then api.nvim_buf_clear_namespace(chat.bufnr, ns, 0, -1) end
end

return M
