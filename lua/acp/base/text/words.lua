--- Word differences inside changed lines: pairs of removed and added lines, and the words in which
--- they differ. Large hunks are not compared, because users do not read those word by word.
local M = {}

local diff = require('acp.base.compat').diff

--- Maximum number of lines in a hunk, both sides together, if they are to be paired, and maximum
--- number of bytes in a line whose words are compared.
M.MAX_LINES, M.MAX_BYTES = 60, 1000

--- Minimum share of bytes that two lines must have in common to be compared word by word.
local COMMON = 0.5

---@alias acp.Words table<integer, integer[][]> index of a line (from 1) -> `{col, end_col}`, bytes

---@class acp.Pair
---@field [1] integer line of the old side, 1-based
---@field [2] integer line of the new side, 1-based

local function joined(lines) return #lines > 0 and table.concat(lines, '\n') .. '\n' or '' end

--- Pair old lines with new ones by Neovim's linematch, which is fast enough for hunks of this size.
---@return acp.Pair[]
local function pairs_of(old, new)
  if #old == 1 and #new == 1 then return { { 1, 1 } } end
  local line_pairs = {}
  local blocks = diff(joined(old), joined(new), {
    result_type = 'indices',
    linematch = M.MAX_LINES,
  })
  for _, block in
    ipairs(blocks --[[@as integer[][] ]])
  do
    for i = 0, math.min(block[2], block[4]) - 1 do
      line_pairs[#line_pairs + 1] = { block[1] + i, block[3] + i }
    end
  end
  return line_pairs
end

--- Split a line into words, runs of blanks and single other characters. UTF-8 sequences stay whole.
local function tokens(line)
  local list, at = {}, 1
  while at <= #line do
    local stop = select(2, line:find('^[%w_\128-\255]+', at))
      or select(2, line:find('^%s+', at))
      or at
    list[#list + 1] = line:sub(at, stop)
    at = stop + 1
  end
  return list
end

--- Return the byte column of each token, and the column after the last one.
local function columns(list)
  local starts, col = { 0 }, 0
  for i, token in ipairs(list) do
    col = col + #token
    starts[i + 1] = col
  end
  return starts
end

---@return integer bytes
local function add(starts, first, count, spans)
  if count == 0 then return 0 end
  local span = { starts[first], starts[first + count] }
  spans[#spans + 1] = span
  return span[2] - span[1]
end

--- Return the spans in which two lines differ, or nil if they differ too much.
---@param old string
---@param new string
---@return integer[][]|nil old_spans
---@return integer[][]|nil new_spans
function M.line(old, new)
  if math.max(#old, #new) > M.MAX_BYTES then return nil end
  local a, b = tokens(old), tokens(new)
  local blocks = diff(joined(a), joined(b), { result_type = 'indices', algorithm = 'minimal' })
  local old_at, new_at = columns(a), columns(b)
  local old_spans, new_spans = {}, {}
  local changed = 0
  for _, block in
    ipairs(blocks --[[@as integer[][] ]])
  do
    changed = changed + add(old_at, block[1], block[2], old_spans)
    changed = changed + add(new_at, block[3], block[4], new_spans)
  end
  if changed > (1 - COMMON) * (#old + #new) then return nil end
  return old_spans, new_spans
end

--- Return the words that differ within a hunk.
---@param old string[] removed lines
---@param new string[] added lines
---@return acp.Words old_words
---@return acp.Words new_words
function M.hunk(old, new)
  local old_words, new_words = {}, {}
  if #old == 0 or #new == 0 or #old + #new > M.MAX_LINES then return old_words, new_words end
  for _, pair in ipairs(pairs_of(old, new)) do
    old_words[pair[1]], new_words[pair[2]] = M.line(old[pair[1]], new[pair[2]])
  end
  return old_words, new_words
end

return M
