--- Shortening of questions that do not fit. One line replaces the middle, so that the user always
--- sees the end of a command before allowing it.
local M = {}

local text_width = require('acp.base.text.width')
local least = require('acp.features.permissions.wrap').min_rows

---@class acp.FittedCard
---@field lines string[]
---@field spans acp.Span[]
---@field head? integer lines above its options

---@class acp.Piece
---@field row integer row of the uncut text, 0-based
---@field first integer byte, 0-based
---@field last integer byte, exclusive
---@field indent string put before the end of a line that is cut at its beginning

---@param count integer
---@param how string hint at the key that shows all
local function lines_between(count, how)
  return ('… %d line%s between%s'):format(count, count == 1 and '' or 's', how)
end

--- Return how many bytes at the beginning (or, with `sign` -1, the end) of a line fit in `cells`.
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

--- Minimum number of rows of a line that is cut in its middle.
local CUT = 2

---@class acp.LineCut
---@field first integer first byte that is cut, 0-based
---@field last integer exclusive
---@field tail integer byte at which the end of the line continues

--- Cut the middle of each line that would take more than its share of `rows` screen rows. So a
--- long command keeps its end although other lines follow it.
---@param lines string[]
---@param how string hint at the key that shows all
---@return string[] lines
---@return table<integer, acp.LineCut> cuts by row, 0-based
local function cut_lines(lines, width, rows, how)
  local needs, short, long = {}, 0, 0
  for i, line in ipairs(lines) do
    needs[i] = least({ line }, width)
    if needs[i] > CUT then
      long = long + 1
    else
      short = short + needs[i]
    end
  end
  local share = long > 0 and math.max(math.floor((rows - short) / long), CUT) or math.huge
  local shortened, cuts = {}, {}
  for i, line in ipairs(lines) do
    shortened[i] = line
    if needs[i] > share then
      -- Lines wrap at words, which may take a part of a row more.
      local cells = share * width - math.floor(width / 4)
      local gap = (' %s … '):format(lines_between(needs[i] - share, how))
      gap = text_width(gap) * 3 < cells and gap or ' … '
      cells = cells - text_width(gap)
      local head = line:sub(1, fitting(line, math.ceil(cells * 0.6), 1)):gsub('%s+$', '')
      local tail = line:sub(#line - fitting(line, math.floor(cells * 0.4), -1) + 1):gsub('^%s+', '')
      shortened[i] = head .. gap .. tail
      cuts[i - 1] = { first = #head, last = #line - #tail, tail = #head + #gap }
    end
  end
  return shortened, cuts
end

--- Return the spans of lines that were cut.
---@param spans acp.Span[]
---@param cuts table<integer, acp.LineCut>
---@return acp.Span[]
local function move_spans(spans, cuts)
  local moved = {}
  for _, span in ipairs(spans) do
    local cut = cuts[span[1]]
    if not cut then
      moved[#moved + 1] = span
    else
      if span[2] < cut.first then
        moved[#moved + 1] = { span[1], span[2], math.min(span[3], cut.first), span[4] }
      end
      if span[3] > cut.last then
        local shift = cut.tail - cut.last
        local first = math.max(span[2], cut.last) + shift
        moved[#moved + 1] = { span[1], first, span[3] + shift, span[4] }
      end
    end
  end
  return moved
end

--- Return the pieces of lines that fill `rows` screen rows from the first line down, or from the
--- last one up.
---@param sign 1|-1
---@return acp.Piece[] in this order
---@return integer used rows
local function pieces_of(lines, rows, width, sign)
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
      -- Blanks at the cut would waste room.
      if sign > 0 then
        last = math.max(#line:sub(1, last):gsub('%s+$', ''), 1)
      else
        first = #line - #line:sub(first + 1):gsub('^%s+', '')
      end
      needs = rows - used
    end
    pieces[#pieces + 1] = { row = at - 1, first = first, last = last, indent = indent }
    used = used + needs
    at = at + sign
  end
  return pieces, used
end

--- Fit lines into at most `rows` screen rows, but at least three: a beginning, a gap and an end.
---@param spans acp.Span[]
---@param how string hint at the key that shows all
---@param lead integer number of lines that must be in the beginning
---@return acp.FittedCard
local function fit(lines, spans, width, rows, how, lead)
  local whole = least(lines, width)
  local least_head = 0 -- the subject, with its end
  for i = 1, math.min(lead, #lines) do
    least_head = least_head + math.min(least({ lines[i] }, width), CUT)
  end
  rows = math.max(rows, least_head + 2)
  if whole <= rows then
    return { lines = lines, spans = spans } -- copied by `slice`, so the caller may change them
  end
  local above = math.min(math.max(math.ceil((rows - 1) * 0.6), least_head), rows - 2)
  local head = pieces_of(lines, above, width, 1)
  local tail = pieces_of(lines, rows - 1 - above, width, -1)
  local gap = lines_between(whole - rows + 1, how)
  local fitted = { lines = {}, spans = {} }
  local begins = {} ---@type table<integer, { [1]: integer, [2]: acp.Piece }[]>
  local function add_piece(piece)
    local text = lines[piece.row + 1]:sub(piece.first + 1, piece.last)
    fitted.lines[#fitted.lines + 1] = piece.indent .. text
    begins[piece.row] = begins[piece.row] or {}
    table.insert(begins[piece.row], { #fitted.lines - 1, piece })
  end
  vim.iter(head):each(add_piece)
  fitted.lines[#fitted.lines + 1] = gap
  fitted.spans[1] = { #fitted.lines - 1, 0, #gap, 'AcpMuted' }
  vim.iter(tail):rev():each(add_piece)
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

---@param result acp.FittedCard
---@param lines string[]
---@param spans acp.Span[]
local function append(result, lines, spans)
  for _, span in ipairs(spans) do
    table.insert(result.spans, { span[1] + #result.lines, span[2], span[3], span[4] })
  end
  vim.list_extend(result.lines, lines)
end

--- Fit the rows above the options. A command of several lines keeps both ends, although other rows
--- follow it.
---@param card acp.Card with these rows at its top
---@param count integer number of rows
---@param rows integer
---@return acp.FittedCard
local function fit_above(card, count, width, rows, how)
  local title_rows = card.title_rows or 1
  local lines, spans = slice(card, 0, count)
  if title_rows <= 1 or title_rows >= count or least(lines, width) <= rows then
    return fit(lines, spans, width, rows, how, card.lead or 1)
  end
  local command, command_spans = slice(card, 0, title_rows)
  local others, other_spans = slice(card, title_rows, count)
  local needed = least(others, width)
  local room = math.max(rows - needed, math.ceil(rows * 0.6), 3)
  local result = fit(command, command_spans, width, room, how, 1)
  local left = rows - least(result.lines, width)
  if needed <= left or left >= 3 then
    local rest = fit(others, other_spans, width, left, how, 1)
    append(result, rest.lines, rest.spans)
  else
    local gap = lines_between(needed, how)
    append(result, { gap }, { { 0, 0, #gap, 'AcpMuted' } })
  end
  return result
end

--- Return a card without the context lines of its diffs, which are the first to be left out.
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

--- Return whether a card fits, as nearly all do.
---@param card acp.Card
local function fits(card, width, rows)
  return #card.lines <= rows and least(card.lines, width) <= rows
end

--- Fit a card into at most `rows` screen rows if possible. Its options are never cut, and the text
--- above them gets most of the room.
---@param card acp.Card
---@param rows integer
---@param inside boolean whether the cursor is in the float, so that its keys work
---@return acp.FittedCard|acp.Card
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
  if wanted > share then
    local cuts
    above, cuts = cut_lines(above, width, share, how)
    above_spans = move_spans(above_spans, cuts)
  end
  local top = vim.tbl_extend('force', card, { lines = above, spans = above_spans })
  local result = fit_above(top, #above, width, share, how)
  result.head = #result.lines
  append(result, choices, choice_spans)
  local rest = fit(below, below_spans, width, room - share, how, 1)
  append(result, rest.lines, rest.spans)
  return result
end

return M
