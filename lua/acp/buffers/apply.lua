--- Application of hunks to a buffer. Marks, folds, cursors and views outside the hunks are
--- preserved.
local M = {}

local api, fn = vim.api, vim.fn
local MAX_PAIRS = 64 -- lines of one hunk that are changed in place; more are replaced as a block

--- Return the number of equal bytes at the start and at the end of two lines. Neither splits a
--- character.
local function common(old, new)
  local shorter = math.min(#old, #new)
  local head = 0
  while head < shorter and old:byte(head + 1) == new:byte(head + 1) do
    head = head + 1
  end
  local function inside(line, at)
    local byte = line:byte(at + 1)
    return byte ~= nil and byte >= 0x80 and byte < 0xc0
  end
  while head > 0 and (inside(old, head) or inside(new, head)) do
    head = head - 1
  end
  local tail = 0
  while tail < shorter - head and old:byte(#old - tail) == new:byte(#new - tail) do
    tail = tail + 1
  end
  while tail > 0 and (inside(old, #old - tail) or inside(new, #new - tail)) do
    tail = tail - 1
  end
  return head, tail
end

--- Return whether a line is the first one of a fold, judging by fold levels.
local function starts_fold(lnum)
  local level = fn.foldlevel(lnum)
  return level > 0 and (level > fn.foldlevel(lnum - 1) or fn.foldclosed(lnum) == lnum)
end

--- Return whether `test` returns true in any of these windows.
local function in_any_window(windows, test)
  local here = api.nvim_get_current_win()
  return vim.iter(windows):any(function(win)
    if win == here then return test() end
    return api.nvim_win_call(win, test)
  end)
end

--- Convert lines for Vim functions, in which a newline represents a NUL.
local function to_vim_lines(lines)
  return vim.tbl_map(function(line) return (line:gsub('%z', '\n')) end, lines)
end

--- Return the extmarks of a line in all namespaces.
local function extmarks(bufnr, row)
  local opts = { details = true, overlap = true }
  return api.nvim_buf_get_extmarks(bufnr, -1, { row, 0 }, { row, -1 }, opts)
end

--- Move an extmark of `row` back to its text. `column` maps a column of the old line, given the
--- gravity, to the new line.
local function restore_extmark(bufnr, row, mark, column)
  local id, at, col, details = unpack(mark)
  local ns = details.ns_id
  if details.invalid then
    return -- setting it would make it valid again
  end
  details.ns_id, details.id = nil, id
  if details.virt_text_pos == 'win_col' then
    details.virt_text_pos = nil -- `virt_text_win_col` implies it
  end
  if details.end_row == row then
    details.end_col = column(details.end_col, details.end_right_gravity)
  end
  col = at == row and column(col, details.right_gravity) or col
  api.nvim_buf_set_extmark(bufnr, ns, at, col, details)
end

--- Replace a whole line, of which the first `head` and the last `tail` bytes are unchanged.
--- Extmarks end up where `nvim_buf_set_text()` would put them; cursors in the tail move with it.
local function replace_line(bufnr, windows, row, old, new, head, tail)
  local shift, last = #new - #old, #old - tail
  local function column(col, right)
    if col > last then return col + shift end
    return (col < head and col) or (right and last + shift) or head
  end
  local marks = extmarks(bufnr, row)
  local behind = {} ---@type table<integer, integer> columns by window
  for _, win in ipairs(windows) do
    local at = api.nvim_win_get_cursor(win)
    if at[1] == row + 1 and at[2] >= last then behind[win] = at[2] + shift end
  end
  assert(fn.setbufline(bufnr, row + 1, to_vim_lines({ new })) == 0)
  for _, mark in ipairs(marks) do
    restore_extmark(bufnr, row, mark, column)
  end
  for win, col in pairs(behind) do
    api.nvim_win_set_cursor(win, { row + 1, col })
  end
end

--- Change only the differing part of a line, so that extmarks in the rest of it are preserved. The
--- first line of a fold is replaced whole, because `nvim_buf_set_text()` would remove it from the
--- fold.
local function set_line(bufnr, windows, row, old, new)
  if old == new then -- the line of an empty file; setting it adds the newline
    api.nvim_buf_set_lines(bufnr, row, row + 1, true, { new })
    return
  end
  local head, tail = common(old, new)
  local is_head = in_any_window(windows, function() return starts_fold(row + 1) end)
  if is_head then
    replace_line(bufnr, windows, row, old, new, head, tail)
  else
    local middle = new:sub(head + 1, #new - tail)
    api.nvim_buf_set_text(bufnr, row, head, row, #old - tail, { middle })
  end
end

--- Return whether rows [first, last) are inside or next to a fold.
local function is_folded(windows, first, last)
  local around = { first, first + 1, last, last + 1 }
  return in_any_window(windows, function()
    return vim.iter(around):any(function(lnum) return fn.foldlevel(lnum) > 0 end)
  end)
end

--- Replace rows [first, last). Near folds Vim functions are used, because `nvim_buf_set_lines()`
--- drops the line below the hunk from a fold and extends a fold to text inserted above it.
local function set_lines(bufnr, windows, first, last, lines)
  local is_whole = first == 0 and last == api.nvim_buf_line_count(bufnr)
  if is_whole or not is_folded(windows, first, last) then
    return api.nvim_buf_set_lines(bufnr, first, last, true, lines)
  end
  local both = math.min(last - first, #lines)
  if both > 0 then
    assert(fn.setbufline(bufnr, first + 1, to_vim_lines(vim.list_slice(lines, 1, both))) == 0)
  end
  if #lines > both then
    assert(
      fn.appendbufline(bufnr, first + both, to_vim_lines(vim.list_slice(lines, both + 1))) == 0
    )
  elseif first + both < last then
    assert(fn.deletebufline(bufnr, first + both + 1, last) == 0)
  end
end

local function apply_hunk(bufnr, windows, first, last, lines)
  if last - first ~= #lines or #lines > MAX_PAIRS then
    return set_lines(bufnr, windows, first, last, lines)
  end
  local old = api.nvim_buf_get_lines(bufnr, first, last, true)
  for i = #lines, 1, -1 do
    set_line(bufnr, windows, first + i - 1, old[i], lines[i])
  end
end

--- Map the line `lnum` to its position after the hunks. Return nil if a hunk contains it.
local function map_line(hunks, lnum)
  local shift = 0
  for _, hunk in ipairs(hunks) do
    local first, last, lines = unpack(hunk)
    if lnum <= first then
      break
    elseif lnum <= last then
      return nil
    end
    shift = shift + #lines - (last - first)
  end
  return lnum + shift
end

--- Return the first lines and cursors of windows.
local function views(windows)
  return vim.tbl_map(
    function(win)
      return { win = win, top = fn.getwininfo(win)[1].topline, at = api.nvim_win_get_cursor(win) }
    end,
    windows
  )
end

--- Restore the view and cursor of a window. Neovim moves a view whose first line is directly below
--- a hunk, and does not adjust every cursor.
local function restore_view(hunks, view)
  local lnum, top = map_line(hunks, view.at[1]), map_line(hunks, view.top)
  local at = api.nvim_win_get_cursor(view.win)
  if lnum and (lnum ~= at[1] or view.at[2] ~= at[2]) then
    api.nvim_win_set_cursor(view.win, { lnum, view.at[2] })
  end
  if top and not vim.wo[view.win].diff and fn.getwininfo(view.win)[1].topline ~= top then
    api.nvim_win_call(view.win, function() fn.winrestview({ topline = top }) end)
  end
end

--- Replacement of the rows [first, last) of a text, from 0, with `lines`: `{first, last, lines}`.
---@alias acp.RowsHunk { [1]: integer, [2]: integer, [3]: string[] }

---@param hunks acp.RowsHunk[] in ascending order
function M.apply_hunks(bufnr, hunks)
  local windows = fn.win_findbuf(bufnr)
  local before = views(windows)
  for i = #hunks, 1, -1 do
    apply_hunk(bufnr, windows, unpack(hunks[i]))
  end
  for _, view in ipairs(before) do
    restore_view(hunks, view)
  end
end

return M
