--- Ranges of buffers that are attached to a prompt. They follow the edits of their buffer until the
--- prompt is sent.
local M = {}

local places = require('acp.base.places')

local ns = vim.api.nvim_create_namespace('acp.chips')

--- Size of the parts in which a file on disk is read, and their maximum number, 16 MiB.
local BLOCK_BYTES, BLOCKS = 64 * 1024, 256

---@class acp.Chip
---@field bufnr integer
---@field mark integer
---@field lost acp.Range the range at creation, used if the buffer is unloaded

--- Create a range that follows the edits of its buffer until it is sent.
---@return acp.Chip
function M.create(bufnr, first, last)
  local range = places.range(bufnr, first, last)
  local mark = vim.api.nvim_buf_set_extmark(bufnr, ns, first - 1, 0, {
    end_row = math.min(last, vim.api.nvim_buf_line_count(bufnr)) - 1,
    end_right_gravity = true,
  })
  return { bufnr = bufnr, mark = mark, lost = range }
end

--- Create chips for the ranges whose buffers are still loaded.
---@param ranges { path: string, first: integer, last: integer }[]
---@return acp.Chip[]
function M.create_all(ranges)
  local chips = {}
  for _, range in ipairs(ranges) do
    local nameless = tonumber(range.path:match('^nvim://buffer/(%d+)$'))
    local bufnr = nameless or vim.fn.bufexists(range.path) == 1 and vim.fn.bufadd(range.path) or -1
    if vim.api.nvim_buf_is_loaded(bufnr) and range.first <= vim.api.nvim_buf_line_count(bufnr) then
      chips[#chips + 1] = M.create(bufnr, range.first, range.last)
    end
  end
  return chips
end

--- Return the ranges that a text does not mention.
---@param ranges { path: string, first: integer, last: integer }[]
---@param text string
function M.without_mentioned(ranges, text)
  if #ranges == 0 or not text:find('@', 1, true) then return ranges end
  local mentioned = require('acp.base.text.mentions').all(text, places.cwd()).ranges
  local function is_mentioned(range)
    return vim
      .iter(mentioned)
      :any(function(other) return other.path == range.path and other.first == range.first end)
  end
  return vim.tbl_filter(function(range) return not is_mentioned(range) end, ranges)
end

--- Create a chip for a range saved by an earlier Neovim.
---@param range acp.Range
---@return acp.Chip
function M.from_saved(range) return { bufnr = -1, mark = 0, lost = range } end

--- Return lines `first` to `last` of a file on disk, without those beyond its end or beyond
--- `BLOCKS`. The rest of the file is not read.
---@return string[]
local function read_lines(path, first, last)
  local stat = vim.uv.fs_stat(path)
  local file = stat and stat.type == 'file' and io.open(path, 'rb') -- a FIFO would block
  if not file then return {} end
  local lines, row, parts = {}, 1, {}
  local function add_part(text)
    if row >= first and row <= last then parts[#parts + 1] = text end
  end
  local function end_line()
    if parts[1] then lines[#lines + 1] = (table.concat(parts):gsub('\r$', '')) end
    row, parts = row + 1, {}
  end
  for _ = 1, BLOCKS do
    local block, from = file:read(BLOCK_BYTES), 1
    for stop in (block or ''):gmatch('()\n') do
      add_part(block:sub(from, stop - 1))
      end_line()
      from = stop + 1
    end
    if block and from <= #block then add_part(block:sub(from)) end
    if not block then end_line() end
    if not block or row > last then break end
  end
  file:close()
  return lines
end

--- Return lines of a file: those of its buffer, or of the disk if none is loaded. Return nil if it
--- has fewer lines.
---@param path string absolute
---@param first integer
---@param last integer
---@return acp.Range|nil
function M.range(path, first, last)
  local bufnr = vim.fn.bufexists(path) == 1 and vim.fn.bufadd(path) or -1
  if vim.api.nvim_buf_is_loaded(bufnr) then
    local count = vim.api.nvim_buf_line_count(bufnr)
    return first <= count and places.range(bufnr, first, math.min(last, count)) or nil
  end
  local lines = read_lines(path, first, last)
  if not lines[1] then return nil end
  return {
    path = path,
    bufnr = -1,
    first = first,
    last = first + #lines - 1,
    text = table.concat(lines, '\n'),
    filetype = vim.filetype.match({ filename = path }) or '',
  }
end

--- Return a chip for lines of a file.
---@param path string absolute
---@param first integer
---@param last integer
---@return acp.Chip|nil
function M.of_file(path, first, last)
  local loaded = M.create_all({ { path = path, first = first, last = last } })
  local range = not loaded[1] and M.range(path, first, last)
  return loaded[1] or range and M.from_saved(range) or nil
end

--- Return the current range of a chip.
---@param chip acp.Chip
---@return acp.Range
function M.resolve(chip)
  if not vim.api.nvim_buf_is_loaded(chip.bufnr) then return chip.lost end
  local at = vim.api.nvim_buf_get_extmark_by_id(chip.bufnr, ns, chip.mark, { details = true })
  if not at[1] then return chip.lost end
  return places.range(chip.bufnr, at[1] + 1, math.max(at[3].end_row, at[1]) + 1)
end

--- Return the names of ranges, for the user.
---@param chips acp.Chip[]
---@return string[]
function M.labels(chips)
  return vim.tbl_map(function(chip) return places.label(M.resolve(chip)) end, chips)
end

return M
