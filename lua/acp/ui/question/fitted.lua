--- Questions that do not fit, as beginning and end of what they tell; what stands between is one
--- line. Nobody says yes to a command whose end is out of sight.
local M = {}

local text_width = require('acp.base.text_width')
local least = require('acp.ui.wrap').least

---@class acp.Fitted
---@field lines string[]
---@field spans acp.Span[]

---@class acp.Piece
---@field row integer of the whole, 0-based
---@field first integer bytes, 0-based
---@field last integer exclusive
---@field indent string what stands before the end of a line

--- How many characters at the beginning (or, with `sign` -1, at the end) of a line fit in `cells`.
---@param sign 1|-1
---@return integer bytes
local function fitting(line, cells, sign)
  local total = vim.fn.strchars(line, true)
  local low, high = 0, math.min(total, cells)
  local function part(count)
    return sign > 0 and vim.fn.strcharpart(line, 0, count, true)
      or vim.fn.strcharpart(line, total - count, count, true)
  end
  while low < high do
    local middle = math.ceil((low + high) / 2)
    if text_width(part(middle)) <= cells then
      low = middle
    else
      high = middle - 1
    end
  end
  return #part(low)
end

--- Pieces of lines that fill `rows` screen rows from the first line down, or from the last one up.
---@param sign 1|-1
---@return acp.Piece[] from there
---@return integer used
local function take(lines, rows, width, sign)
  local pieces, used = {}, 0
  local at = sign > 0 and 1 or #lines
  while lines[at] and used < rows do
    local line = lines[at]
    local needs = least({ line }, width)
    local first, last, indent = 0, #line, ''
    if used + needs > rows then
      indent = sign < 0 and line:match('^%s*'):sub(1, 8) or ''
      local bytes = fitting(line, (rows - used) * width - #indent, sign)
      first, last = sign > 0 and 0 or #line - bytes, sign > 0 and bytes or #line
      needs = rows - used
    end
    pieces[#pieces + 1] = { row = at - 1, first = first, last = last, indent = indent }
    used = used + needs
    at = at + sign
  end
  return pieces, used
end

--- The lines in at most `rows` screen rows, and in three at least: a beginning, a gap and an end.
---@param spans acp.Span[]
---@param how string what shows all
---@return acp.Fitted
local function fit(lines, spans, width, rows, how)
  local whole = least(lines, width)
  if whole <= rows then
    return { lines = lines, spans = spans } -- ours: `slice` has made them
  end
  rows = math.max(rows, 3)
  local above = math.ceil((rows - 1) * 0.6)
  local head = take(lines, above, width, 1)
  local tail = take(lines, rows - 1 - above, width, -1)
  local said = ('… %d lines between%s'):format(whole - rows + 1, how)
  local fitted = { lines = {}, spans = {} }
  local begins = {} ---@type table<integer, { [1]: integer, [2]: acp.Piece }[]>
  local function put(piece)
    local text = lines[piece.row + 1]:sub(piece.first + 1, piece.last)
    fitted.lines[#fitted.lines + 1] = piece.indent .. text
    begins[piece.row] = begins[piece.row] or {}
    table.insert(begins[piece.row], { #fitted.lines - 1, piece })
  end
  vim.iter(head):each(put)
  fitted.lines[#fitted.lines + 1] = said
  fitted.spans[1] = { #fitted.lines - 1, 0, #said, 'AcpMuted' }
  vim.iter(tail):rev():each(put)
  for _, span in ipairs(spans) do
    for _, found in ipairs(begins[span[1]] or {}) do
      local row, piece = found[1], found[2]
      local first, last = math.max(span[2], piece.first), math.min(span[3], piece.last)
      if first < last then
        local shift = #piece.indent - piece.first
        table.insert(fitted.spans, { row, first + shift, last + shift, span[4] })
      end
    end
  end
  return fitted
end

---@param card acp.Card
---@param first integer 0-based
---@param last integer exclusive
---@return string[] lines
---@return acp.Span[] spans
local function slice(card, first, last)
  local spans = {}
  for _, span in ipairs(card.spans or {}) do
    if span[1] >= first and span[1] < last then
      spans[#spans + 1] = { span[1] - first, span[2], span[3], span[4] }
    end
  end
  return vim.list_slice(card.lines, first + 1, last), spans
end

--- A card without the lines around the changes of its diffs: what changes goes before them.
---@param card acp.Card
---@return acp.Card
local function without_context(card)
  local around = {} ---@type table<integer, true> rows
  for _, span in ipairs(card.spans or {}) do
    if span[4] == 'AcpDiffContext' then around[span[1]] = true end
  end
  if not next(around) then return card end
  local head, lines, rows = card.head or #card.lines, {}, {}
  for row, line in ipairs(card.lines) do
    if not around[row - 1] then
      lines[#lines + 1] = line
      rows[row - 1] = #lines - 1
    elseif card.head and row <= card.head then
      head = head - 1
    end
  end
  local spans = {}
  for _, span in ipairs(card.spans) do
    if rows[span[1]] then spans[#spans + 1] = { rows[span[1]], span[2], span[3], span[4] } end
  end
  return vim.tbl_extend('force', card, { lines = lines, spans = spans, head = head })
end

--- Whether a card takes no more than that, as nearly all do.
---@param card acp.Card
local function fits(card, width, rows)
  return #card.lines <= rows and least(card.lines, width) <= rows
end

--- A card in at most `rows` screen rows, as far as that goes: its options stay, above all what
--- stands before them is shown.
---@param card acp.Card
---@param rows integer
---@param inside boolean whether keys act there
---@return acp.Fitted|acp.Card
function M.card(card, width, rows, inside)
  if fits(card, width, rows) then return card end
  card = without_context(card)
  if fits(card, width, rows) then return card end
  local head = card.head or #card.lines
  local options = math.min(head + #(card.options or {}), #card.lines)
  local above, above_spans = slice(card, 0, head)
  local choices, choice_spans = slice(card, head, options)
  local below, below_spans = slice(card, options, #card.lines)
  local how = inside and ', <CR> shows all' or ''
  local room = rows - least(choices, width)
  local wanted = least(above, width)
  local least_share = math.max(room - least(below, width), math.ceil(room * 0.6))
  local share = math.min(wanted, least_share)
  local result = fit(above, above_spans, width, share, how)
  local function add(lines, spans)
    for _, span in ipairs(spans) do
      table.insert(result.spans, { span[1] + #result.lines, span[2], span[3], span[4] })
    end
    vim.list_extend(result.lines, lines)
  end
  add(choices, choice_spans)
  local rest = fit(below, below_spans, width, room - share, how)
  add(rest.lines, rest.spans)
  return result
end

return M
