--- What a closed fold of a chat shows in its one line: its head, cut where the window ends, and of
--- a thought how it begins.
local M = {}

local api = vim.api
local ns = api.nvim_create_namespace('acp.chat')

local FOLD = '▸ ' -- begins a head that says nothing of what is below it
local LOOKED_AT = 4 -- lines, for one that is not blank
local MOST = 500 -- bytes that a screen may be wide, and folds that are remembered

--- Chunks by width, head and what is added to it: a fold is drawn anew whenever its window scrolls.
local known, count = {}, 0 ---@type table<string, { [1]: string, [2]: string? }[]>, integer

--- How a thought begins, without the marks that agents put around a title.
---@param first integer line of the head
---@return string
local function beginning(first)
  for _, line in ipairs(api.nvim_buf_get_lines(0, first, first + LOOKED_AT, false)) do
    local text = vim.trim(line:sub(1, MOST)):gsub('^#+%s+', ''):gsub('%*%*', '')
    if text ~= '' then
      return ' · ' .. text
    end
  end
  return ''
end

--- A line as pieces with a group each.
---@param row integer
---@param text string the beginning of the line
---@return { [1]: string, [2]: string? }[]
local function pieces(row, text)
  local chunks, at = {}, 0
  local marks = api.nvim_buf_get_extmarks(0, ns, { row, 0 }, { row, -1 }, { details = true })
  local function add(last, group)
    if last > at then
      chunks[#chunks + 1] = { text:sub(at + 1, last), group }
      at = last
    end
  end
  for _, mark in ipairs(marks) do
    if mark[4].hl_group then
      add(math.min(mark[3], #text))
      add(math.min(mark[4].end_col, #text), mark[4].hl_group)
    end
  end
  add(#text)
  return chunks
end

---@param first integer
---@param head string
---@param more string
---@param width integer cells
---@return { [1]: string, [2]: string? }[]
local function drawn(first, head, more, width)
  local whole = require('acp.notify').cut(head .. more, width)
  local chunks = pieces(first - 1, whole:sub(1, #head))
  if #whole > #head then
    chunks[#chunks + 1] = { whole:sub(#head + 1), 'AcpThought' }
  end
  return chunks
end

--- 'foldtext' of the window that is current.
---@param first integer line
---@return { [1]: string, [2]: string? }[] chunks
function M.of(first)
  local info = vim.fn.getwininfo(api.nvim_get_current_win())[1]
  local width = info.width - info.textoff
  local head = vim.fn.getline(first)
  local more = vim.startswith(head, FOLD) and beginning(first) or ''
  local key = ('%d %s%s'):format(width, head, more)
  if not known[key] then
    if count >= MOST then
      known, count = {}, 0
    end
    known[key], count = drawn(first, head, more, width), count + 1
  end
  return known[key]
end

return M
