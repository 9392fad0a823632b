--- The line of a closed fold in a chat: its head, cut where the window ends, and the beginning of a
--- thought.
local M = {}

local text_width = require('acp.base.text_width')
local api = vim.api

local FOLD = '▸ ' -- begins a head that says nothing of what is below it
local CUT = '…' -- ends what is cut, by `acp.base.notify`
local LOOKED_AT = 4 -- lines, for one that is not blank
local TITLE = 8 -- cells that are left of a title before what follows it is cut instead
local MOST = 500 -- bytes that a screen may be wide, and folds that are remembered

--- Chunks by width, head and what is added to it: a fold is drawn anew whenever its window scrolls.
local known, count = {}, 0 ---@type table<string, { [1]: string, [2]: string? }[]>, integer

--- How a thought begins, without the marks that agents put around a title.
---@param first integer line of the head
local function beginning(first)
  for _, line in ipairs(api.nvim_buf_get_lines(0, first, first + LOOKED_AT, false)) do
    local text = vim.trim(line:sub(1, MOST)):gsub('^#+%s+', ''):gsub('%*%*', '')
    if text ~= '' then return ' · ' .. text end
  end
  return ''
end

--- A line as pieces with a group each.
---@param text string the beginning of the line
---@param from? integer bytes of it that are left out
---@return { [1]: string, [2]: string? }[]
local function pieces(row, text, from)
  local chunks, at = {}, from or 0
  local look = require('acp.ui.chat.marks').look(api.nvim_get_current_buf(), row)
  local function add(last, group)
    if last > at then
      chunks[#chunks + 1] = { text:sub(at + 1, last), group }
      at = last
    end
  end
  for i = 1, #look, 3 do
    add(math.min(look[i], #text))
    add(math.min(look[i + 1], #text), look[i + 2])
  end
  add(#text)
  return chunks
end

--- What a line ends in that says more than the end of the title before it: the file, and how many
--- lines of it have changed.
local function ending(head)
  local from = head:find(' · [^·]+ %+%d+ %-%d+$') or head:find(' %+%d+ %-%d+$')
  return from and head:sub(from) or ''
end

--- A line whose title is cut, and not what follows it.
---@param width integer cells
local function shortened(first, head, tail, width)
  local title = head:sub(1, #head - #tail)
  local cut = require('acp.base.notify').cut(title, width - text_width(tail))
  local chunks = pieces(first - 1, cut:sub(1, -1 - #CUT))
  chunks[#chunks + 1] = { CUT, (chunks[#chunks] or {})[2] }
  return vim.list_extend(chunks, pieces(first - 1, head, #title))
end

---@param width integer cells
---@return { [1]: string, [2]: string? }[]
local function drawn(first, head, more, width)
  if text_width(head) > width then -- the mark before a title says the status as well
    head = head:match('^(.*) · [%l ]+$') or head
    local tail = ending(head)
    local fits = text_width(head) <= width or text_width(tail) + TITLE > width
    if tail ~= '' and not fits then return shortened(first, head, tail, width) end
  end
  local whole = require('acp.base.notify').cut(head .. more, width)
  local is_cut = whole ~= head .. more
  local shown = is_cut and whole:sub(1, -1 - #CUT) or whole
  local chunks = pieces(first - 1, shown:sub(1, #head))
  if #shown > #head then chunks[#chunks + 1] = { shown:sub(#head + 1), 'AcpThought' } end
  if is_cut then chunks[#chunks + 1] = { CUT, (chunks[#chunks] or {})[2] } end
  return chunks
end

--- What a fold says that gathers tool calls.
---@return string?
local function title(first, last)
  local chat = require('acp.ui.chat.buffers').of(api.nvim_get_current_buf())
  return chat and require('acp.ui.chat.folds').title(chat, first - 1, last - 1)
end

--- What a gathering fold says in colours: `Edited 2 files +6 -1 · till.py, README.md`.
---@param text string
---@param width integer cells
---@return { [1]: string, [2]: string? }[] chunks
local function gathered_line(text, width)
  local shown = require('acp.base.notify').cut(text, width - 2)
  local what, names = shown:match('^(.-)( · .*)$')
  local said, added, removed = (what or shown):match('^(.-)( %+%d+)( %-%d+)$')
  local verb, object = (said or what or shown):match('^(%S*)(.*)$')
  return {
    { '✓ ', 'AcpToolCompleted' },
    { verb, 'AcpToolKind' },
    { object, 'AcpToolTitle' },
    { added or '', 'AcpAdded' },
    { removed or '', 'AcpRemoved' },
    { names or '', 'AcpMuted' },
  }
end

--- 'foldtext' of the window that is current: asked for each closed fold whenever it is drawn.
---@param first integer line
---@return { [1]: string, [2]: string? }[] chunks
function M.of(first)
  local width = require('acp.ui.win').text_columns(api.nvim_get_current_win())
  local gathered = title(first, vim.v.foldend)
  if gathered then return gathered_line(gathered, width) end
  local head = api.nvim_buf_get_lines(0, first - 1, first, false)[1]
  local more = head:sub(1, #FOLD) == FOLD and beginning(first) or ''
  local key = width .. ' ' .. head .. more
  local chunks = known[key]
  if not chunks then
    if count >= MOST then
      known, count = {}, 0
    end
    chunks = drawn(first, head, more, width)
    known[key], count = chunks, count + 1
  end
  return chunks
end

return M
