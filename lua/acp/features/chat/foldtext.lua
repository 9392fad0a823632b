--- Line of a closed fold in a chat: its head, cut to the width of the window, and the beginning of
--- a thought.
local M = {}

local text_width = require('acp.base.text.width')
local api = vim.api

local FOLD = '▸ ' -- start of a head that does not describe its content, such as that of a thought
local CUT = '…' -- end of a cut text, from `acp.base.notify`
local SEARCHED_LINES = 4 -- lines searched for one that is not blank
local TITLE = 8 -- minimum cells of a title; below this the text after it is cut too
local LIMIT = 500 -- maximum width of a screen in bytes, and maximum number of cached folds

--- Cached chunks by width, head and added text. A fold is redrawn whenever its window scrolls.
local cache, count = {}, 0 ---@type table<string, { [1]: string, [2]: string? }[]>, integer

--- Return the beginning of a thought, without the Markdown that agents put around a title.
---@param first integer line of the head
local function beginning(first)
  for _, line in ipairs(api.nvim_buf_get_lines(0, first, first + SEARCHED_LINES, false)) do
    local text = vim.trim(line:sub(1, LIMIT)):gsub('^#+%s+', ''):gsub('%*%*', '')
    if text ~= '' then return ' · ' .. text end
  end
  return ''
end

--- Return a line as chunks with highlight groups.
---@param text string the beginning of the line
---@param from? integer bytes to skip
---@return { [1]: string, [2]: string? }[]
local function pieces(row, text, from)
  local chunks, at = {}, from or 0
  local highlights = require('acp.features.chat.marks').highlights(api.nvim_get_current_buf(), row)
  local function add(last, group)
    if last > at then
      chunks[#chunks + 1] = { text:sub(at + 1, last), group }
      at = last
    end
  end
  for i = 1, #highlights, 3 do
    add(math.min(highlights[i], #text))
    add(math.min(highlights[i + 1], #text), highlights[i + 2])
  end
  add(#text)
  return chunks
end

--- Return the end of a line that matters more than its title: the file and the number of changed
--- lines.
local function end_of_line(head)
  local from = head:find(' · [^·]+ %+%d+ %-%d+$') or head:find(' %+%d+ %-%d+$')
  return from and head:sub(from) or ''
end

--- Return the chunks of a line whose title is cut but whose end is kept.
---@param width integer cells
local function shorten(first, head, tail, width)
  local title = head:sub(1, #head - #tail)
  local cut = require('acp.base.notify').cut(title, width - text_width(tail))
  local chunks = pieces(first - 1, cut:sub(1, -1 - #CUT))
  chunks[#chunks + 1] = { CUT, (chunks[#chunks] or {})[2] }
  return vim.list_extend(chunks, pieces(first - 1, head, #title))
end

--- Return the chunks of a part of a line, cut to a width.
---@param head string the line up to the end of the part
---@param from integer bytes before the part
---@param width integer cells
---@return { [1]: string, [2]: string? }[]
local function cut_pieces(first, head, from, width)
  local part = head:sub(from + 1)
  local cut = require('acp.base.notify').cut(part, width)
  if cut == part then return pieces(first - 1, head, from) end
  local chunks = pieces(first - 1, head:sub(1, from) .. cut:sub(1, -1 - #CUT), from)
  chunks[#chunks + 1] = { CUT, (chunks[#chunks] or {})[2] }
  return chunks
end

--- Return the chunks of a refused call's line. The title is cut first, then the user's reason.
---@param width integer cells
---@return { [1]: string, [2]: string? }[]
local function draw_refused_line(first, head, reason, width)
  local title = head:sub(1, #head - #reason)
  local room = math.max(width - text_width(reason), math.min(text_width(title), TITLE))
  local chunks = cut_pieces(first, title, 0, room)
  return vim.list_extend(chunks, cut_pieces(first, head, #title, width - room))
end

---@param width integer cells
---@return { [1]: string, [2]: string? }[]
local function draw_first_line(first, head, more, width)
  if text_width(head) > width then
    local refusal = head:match(' · refused: .*$')
    if refusal then return draw_refused_line(first, head, refusal, width) end
    head = head:match('^(.*) · [%l ]+$') or head -- the sign before the title shows the status too
    local tail = end_of_line(head)
    local is_fitting = text_width(head) <= width or text_width(tail) + TITLE > width
    if tail ~= '' and not is_fitting then return shorten(first, head, tail, width) end
  end
  local whole = require('acp.base.notify').cut(head .. more, width)
  local is_cut = whole ~= head .. more
  local shown = is_cut and whole:sub(1, -1 - #CUT) or whole
  local chunks = pieces(first - 1, shown:sub(1, #head))
  if #shown > #head then chunks[#chunks + 1] = { shown:sub(#head + 1), 'AcpThought' } end
  if is_cut then chunks[#chunks + 1] = { CUT, (chunks[#chunks] or {})[2] } end
  return chunks
end

--- Return the title of a fold that gathers tool calls.
---@return string?
local function title(first, last)
  local chat = require('acp.ui.chats').of(api.nvim_get_current_buf())
  return chat and require('acp.features.chat.folds').title(chat, first - 1, last - 1)
end

--- Return the coloured title of a gathering fold: `Edited 2 files +6 -1 · till.py, README.md`.
---@param text string
---@param width integer cells
---@return { [1]: string, [2]: string? }[] chunks
local function gathered_line(text, width)
  local shown = require('acp.base.notify').cut(text, width - 2)
  local action, names = shown:match('^(.-)( · .*)$')
  local phrase, added, removed = (action or shown):match('^(.-)( %+%d+)( %-%d+)$')
  local verb, object = (phrase or action or shown):match('^(%S*)(.*)$')
  return {
    { '✓ ', 'AcpToolCompleted' },
    { verb, 'AcpToolKind' },
    { object, 'AcpToolTitle' },
    { added or '', 'AcpAdded' },
    { removed or '', 'AcpRemoved' },
    { names or '', 'AcpMuted' },
  }
end

--- 'foldtext' of the current window. Neovim calls it for each closed fold at each drawing.
---@param first integer line
---@return { [1]: string, [2]: string? }[] chunks
function M.of(first)
  local width = require('acp.features.chat.marks').text_columns(api.nvim_get_current_win())
  local gathered = title(first, vim.v.foldend)
  if gathered then return gathered_line(gathered, width) end
  local head = api.nvim_buf_get_lines(0, first - 1, first, false)[1]
  local more = head:sub(1, #FOLD) == FOLD and beginning(first) or ''
  local key = width .. ' ' .. head .. more
  local chunks = cache[key]
  if not chunks then
    if count >= LIMIT then
      cache, count = {}, 0
    end
    chunks = draw_first_line(first, head, more, width)
    cache[key], count = chunks, count + 1
  end
  return chunks
end

return M
