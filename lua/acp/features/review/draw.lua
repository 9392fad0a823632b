--- Extmarks of pending hunks. Each hunk has one in namespace `acp.hunks`, from its first to its
--- last line, with the line highlight, the sign and the removed lines. When the hunk becomes
--- visible, its changed words get extmarks in `acp.hunks.words`, and an extmark in
--- `acp.hunks.lines` replaces the line highlight, which would hide the words and the syntax colours
--- at any priority.
local M = {}

local api = vim.api

M.ns = api.nvim_create_namespace('acp.hunks')
local words_ns = api.nvim_create_namespace('acp.hunks.words')
local lines_ns = api.nvim_create_namespace('acp.hunks.lines')

--- Priorities: lines below syntax (100), so that its colours are visible, and words above it. On a
--- screen with few colours, lines are above it too: a string would be green on green.
local LINE, FEW_COLOURS, WORD = 90, 130, 135

--- Priority of the sign and of the line highlight, which hides syntax at any priority. It is above
--- the signs of git plugins, because a pending hunk is more urgent than a difference from git.
local SIGN = 200

local TITLE, MIN_TITLE = 60, 10 -- cells

---@class acp.Hunk rows are 0-based and half-open, in the buffer's text
---@field first integer
---@field last integer
---@field removed string[] lines of the base that it replaced
---@field more? integer number of further such lines
---@field kind 'added'|'changed'|'removed'
---@field title? string instruction of the inline edit that made it

---@class acp.Entry
---@field hunk acp.Hunk
---@field id? integer extmark, nil until it is placed
---@field refined? boolean its words and colours are drawn
---@field text? string[] lines for which the words were drawn
---@field words? integer[] extmarks
---@field tint? integer extmark that colours its lines instead of a line highlight
---@field below? boolean its lines were removed after the last line of the buffer
---@field hidden? boolean the extmark is invisible and only records the position

local styles = {
  added = { line = 'AcpHunkAdd', sign = 'AcpSignAdd', text = '┃' },
  changed = { line = 'AcpHunkChange', sign = 'AcpSignChange', text = '┃' },
  removed = { sign = 'AcpSignRemove', text = '▁' },
}

local function same_lines(old, new)
  if #old ~= #new then return false end
  for i = 1, #old do
    if old[i] ~= new[i] then return false end
  end
  return true
end

---@param old acp.Hunk
---@param new acp.Hunk
local function is_same(old, new)
  return old.kind == new.kind
    and old.last - old.first == new.last - new.first
    and old.more == new.more
    and old.title == new.title
    and same_lines(old.removed, new.removed)
end

--- Return the row of the hunk's extmark: its first line, or the last line of the buffer if lines
--- were removed at the end.
---@param hunk acp.Hunk
---@param count integer of the buffer's lines
---@return integer row
function M.row(hunk, count) return math.max(math.min(hunk.first, count - 1), 0) end

---@param hunk acp.Hunk
local function end_row(hunk, count)
  local last = math.min(hunk.last, count) - 1
  return last > M.row(hunk, count) and last or nil
end

--- Return the title of a hunk as one short line.
---@param hunk acp.Hunk
---@param width integer cells
local function title_of(hunk, width)
  local notify = require('acp.base.notify')
  return notify.cut(notify.one_line(hunk.title --[[@as string]]), width)
end

--- Return the extmark's options without the removed lines.
---@param entry acp.Entry
---@param place integer[] `{row, end_row}`, inclusive
---@return vim.api.keyset.set_extmark
local function options(bufnr, entry, place)
  local opts = { id = entry.id, priority = SIGN }
  if place[2] > place[1] then
    opts.end_row, opts.end_col = place[2], 0
  end
  local review = require('acp.config').get().review
  if entry.hunk.title and review.inline then -- also in diff mode
    local room = require('acp.ui.win').room_beside(bufnr, place[1])
    room = math.max(math.min(room - 2, TITLE), MIN_TITLE)
    opts.virt_text = { { '  ' .. title_of(entry.hunk, room), 'AcpMuted' } }
    opts.hl_mode = 'combine'
  end
  if not entry.hidden then
    local style = styles[entry.hunk.kind]
    opts.line_hl_group = not entry.tint and style.line or nil
    if review.signs then
      opts.sign_text, opts.sign_hl_group = style.text, style.sign
    end
  end
  return opts
end

---@param entry acp.Entry
---@param virtual acp.Chunk[][] removed lines
local function set_extmark(bufnr, entry, virtual, place)
  local opts = options(bufnr, entry, place)
  if #virtual > 0 and not entry.hidden then
    opts.virt_lines = virtual
    opts.virt_lines_above = not entry.below
    opts.virt_lines_overflow = require('acp.base.compat').virt_lines_overflow
  end
  entry.id = api.nvim_buf_set_extmark(bufnr, M.ns, place[1], 0, opts)
end

--- Draw a hunk, with its removed lines uncoloured.
---@param entry acp.Entry
---@param place? integer[] current `{row, end_row}`; by default from the host's rows
function M.draw(bufnr, entry, place)
  local hunk, count = entry.hunk, api.nvim_buf_line_count(bufnr)
  if not place then
    local row = M.row(hunk, count)
    place = { row, end_row(hunk, count) or row }
    entry.below = hunk.first >= count
  end
  local removed = entry.hidden and {} or require('acp.features.review.virtual').plain(hunk)
  set_extmark(bufnr, entry, removed, place)
end

---@param entry acp.Entry
local function drop_words(bufnr, entry)
  for _, id in ipairs(entry.words or {}) do
    api.nvim_buf_del_extmark(bufnr, words_ns, id)
  end
  if entry.tint then api.nvim_buf_del_extmark(bufnr, lines_ns, entry.tint) end
  entry.words, entry.tint = nil, nil
end

---@param entry acp.Entry
function M.remove(bufnr, entry)
  if entry.id then api.nvim_buf_del_extmark(bufnr, M.ns, entry.id) end
  drop_words(bufnr, entry)
end

--- Return the rows of the extmarks by id, as `{row, end_row}`, inclusive.
---@param from? integer
---@param to? integer inclusive
---@return table<integer, integer[]>
function M.positions(bufnr, from, to)
  local positions = {}
  local filter = { details = true, overlap = true }
  local first, last = from and { from, 0 } or 0, to and { to, -1 } or -1
  for _, extmark in ipairs(api.nvim_buf_get_extmarks(bufnr, M.ns, first, last, filter)) do
    positions[extmark[1]] = { extmark[2], extmark[4].end_row or extmark[2] }
  end
  return positions
end

--- Return entries for `hunks`. An unchanged hunk in the same place keeps its entry and extmarks;
--- other entries have no extmarks yet. Extmarks of hunks that no longer exist are removed.
---@param before acp.Entry[]
---@param hunks acp.Hunk[]
---@param hidden boolean whether the hunks are hidden
---@return acp.Entry[]
function M.match_entries(bufnr, before, hunks, hidden)
  local count = api.nvim_buf_line_count(bufnr)
  local at = M.positions(bufnr)
  local by_row = {}
  for _, entry in ipairs(before) do
    local place = entry.id and at[entry.id]
    if place and not by_row[place[1]] then
      by_row[place[1]] = entry
    else
      M.remove(bufnr, entry)
    end
  end
  local result = {}
  for i, hunk in ipairs(hunks) do
    local row = M.row(hunk, count)
    local old = by_row[row]
    local last = old and at[old.id][2]
    local is_there = old and old.hidden == hidden and last == (end_row(hunk, count) or row)
    if old and is_there and is_same(old.hunk, hunk) then
      old.hunk, by_row[row] = hunk, nil
      result[i] = old
    else
      result[i] = { hunk = hunk, hidden = hidden }
    end
  end
  for _, entry in pairs(by_row) do
    M.remove(bufnr, entry)
  end
  return result
end

---@param entry acp.Entry
---@param words acp.Words
local function draw_words(bufnr, entry, row, words)
  entry.words = {}
  for i, spans in pairs(words) do
    for _, span in ipairs(spans) do
      local opts = { end_col = span[2], hl_group = 'AcpHunkWord', priority = WORD, strict = false }
      local id = api.nvim_buf_set_extmark(bufnr, words_ns, row + i - 1, span[1], opts)
      table.insert(entry.words, id)
    end
  end
end

--- Colour the lines of a hunk below all other highlights.
---@param entry acp.Entry
local function tint(bufnr, entry, place)
  local group = styles[entry.hunk.kind].line
  entry.tint = group
    and api.nvim_buf_set_extmark(bufnr, lines_ns, place[1], 0, {
      end_row = place[2] + 1,
      end_col = 0,
      hl_group = group,
      hl_eol = true,
      priority = vim.o.termguicolors and LINE or FEW_COLOURS,
      strict = false,
    })
end

--- Hide a hunk or show it again, at its current place.
---@param entry acp.Entry
---@param place integer[]
---@param hidden boolean
function M.toggle(bufnr, entry, place, hidden)
  drop_words(bufnr, entry)
  entry.hidden, entry.refined = hidden, nil
  M.draw(bufnr, entry, place)
end

--- Draw the words and colours of a visible hunk, unless they are drawn already.
---@param entry acp.Entry
---@param place integer[] of its extmark
function M.refine(bufnr, entry, place)
  local hunk = entry.hunk
  local text = {}
  if hunk.kind == 'changed' then
    text = api.nvim_buf_get_lines(bufnr, place[1], place[2] + 1, false)
  end
  if entry.refined and same_lines(entry.text, text) then return end
  drop_words(bufnr, entry)
  local old, new = require('acp.base.text.words').hunk(hunk.more and {} or hunk.removed, text)
  tint(bufnr, entry, place)
  local removed = require('acp.features.review.virtual').virtual_lines(bufnr, hunk, old)
  set_extmark(bufnr, entry, removed, place)
  draw_words(bufnr, entry, place[1], new)
  entry.refined, entry.text = true, text
end

--- Cut the title of a hunk to the current width of its window.
---@param entry acp.Entry
---@param place integer[] of its extmark
function M.fit_title(bufnr, entry, place)
  if not entry.hunk.title then return end
  local is_refined = entry.refined
  M.draw(bufnr, entry, place)
  entry.refined = nil
  if is_refined then M.refine(bufnr, entry, place) end
end

return M
