--- Ranges of lines that follow all changes to their buffer, even an undo. Lines added above the
--- first or below the last line are outside, lines that replace some of the range are inside.
--- Extmarks would move behind the new lines if a change replaces the first line.
local M = {}

local api = vim.api

---@class acp.LineRange
---@field bufnr integer
---@field first integer 0-based
---@field last integer exclusive; equal to `first` if the lines were deleted

local by_buffer = {} ---@type table<integer, table<acp.LineRange, true>>
local attached = {} ---@type table<integer, true> buffers

--- Return the new position of a row after rows [first, last) were replaced by `count` lines.
---@param row integer
local function map_row(row, first, last, count)
  if row >= last then return row + count - (last - first) end
  return row > first and first + math.min(row - first, count) or row
end

---@param range acp.LineRange
local function follow(range, first, last, count)
  local is_empty, is_insertion = range.first == range.last, first == last
  if is_empty and is_insertion and range.first == first then
    range.last = first + count -- an undo of the deletion
    return
  end
  local is_below = first >= range.last
  range.first = map_row(range.first, first, last, count)
  range.last = is_below and range.last or map_row(range.last, first, last, count)
  range.last = math.max(range.first, range.last)
end

--- Follow the changes to a buffer while it has ranges.
---@param on_change fun()
local function attach(bufnr, on_change)
  if attached[bufnr] or not api.nvim_buf_is_loaded(bufnr) then return end
  attached[bufnr] = true
  api.nvim_buf_attach(bufnr, false, {
    on_lines = function(_, _, _, first, last, new_last)
      if not by_buffer[bufnr] then
        attached[bufnr] = nil
        return true
      end
      for range in pairs(by_buffer[bufnr]) do
        follow(range, first, last, new_last - first)
      end
      on_change()
    end,
    on_reload = on_change,
    on_detach = function() attached[bufnr] = nil end,
  })
end

---@param first integer 0-based
---@param last integer exclusive
---@param on_change fun() called after each change to the buffer, even while text is locked
---@return acp.LineRange
function M.create(bufnr, first, last, on_change)
  local range = { bufnr = bufnr, first = first, last = last }
  by_buffer[bufnr] = by_buffer[bufnr] or {}
  by_buffer[bufnr][range] = true
  attach(bufnr, on_change)
  return range
end

--- Follow a buffer again that was unloaded and is loaded again.
---@param on_change fun()
function M.on_read(bufnr, on_change)
  if by_buffer[bufnr] then attach(bufnr, on_change) end
end

--- Return the current rows of a range within its buffer. Return nil while that is not loaded.
---@param range acp.LineRange
---@return integer|nil first 0-based
---@return integer last exclusive
function M.rows(range)
  if not api.nvim_buf_is_loaded(range.bufnr) then return nil, 0 end
  local count = api.nvim_buf_line_count(range.bufnr)
  return math.min(range.first, count), math.min(range.last, count)
end

---@param range acp.LineRange
function M.delete(range)
  local ranges = by_buffer[range.bufnr] or {}
  ranges[range] = nil
  if not next(ranges) then by_buffer[range.bufnr] = nil end
end

return M
