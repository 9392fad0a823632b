--- Placement of the float of questions: in a corner of the screen, top right first, so that it does
--- not cover the text around the cursor. It moves only when the cursor comes near.
local M = {}

local text_width = require('acp.base.text.width')
local ORDER = { 'NE', 'SE', 'NW', 'SW' }
local BORDER, MIN_ROWS = 2, 3 -- cells of both borders, and minimum rows
local NEAR = 2 -- lines above and below the cursor to keep in view
local LONG = 1000 -- bytes above which a line counts as wider than any window

local corner = ORDER[1]

---@class acp.Rect screen cells, 1-based, inclusive
---@field top integer
---@field bottom integer
---@field left integer
---@field right integer

local function tabline()
  local shown = vim.o.showtabline
  return shown == 2 or shown == 1 and #vim.api.nvim_list_tabpages() > 1
end

--- Return whether a window at the top has a winbar, which stays in view.
---@param top integer row of the winbar
local function bar(top)
  for _, win in ipairs(require('acp.ui.win').splits(0)) do
    local info = vim.fn.getwininfo(win)[1]
    if info.winbar == 1 and info.winrow == top then return true end
  end
  return false
end

--- Return the screen rows that floats may use.
---@return integer first
---@return integer last
local function rows()
  local top = tabline() and 2 or 1
  return bar(top) and top + 1 or top, vim.o.lines - vim.o.cmdheight - 1
end

--- Return the part of the screen that floats may use.
---@return acp.Rect
local function whole_screen()
  local first, last = rows()
  return { top = first, bottom = last, left = 1, right = vim.o.columns }
end

local NARROW, LOW = 34, 5 -- minimum columns and rows of a usable part of the screen

--- Return whether a window shows questions itself: a chat or the overview.
local function shows_cards(win)
  local bufnr = vim.api.nvim_win_get_buf(win)
  return require('acp.base.signals').emit('questions_in_rows', bufnr, 0, -1) ~= nil
end

--- Return the largest part of the screen beside, above or below all chats and the overview, since
--- the user reads them. Return the whole screen while the cursor is in the float, and nil if they
--- leave no room.
---@param win integer|nil the float
---@return acp.Rect|nil
local function largest_free_part(win)
  local whole = whole_screen()
  if vim.api.nvim_get_current_win() == win then return whole end
  local chats ---@type acp.Rect|nil smallest rectangle around all chats
  for _, other in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if shows_cards(other) then
      local info = vim.fn.getwininfo(other)[1]
      local right, bottom = info.wincol + info.width - 1, info.winrow + info.height - 1
      chats = chats or { top = whole.bottom, bottom = whole.top, left = vim.o.columns, right = 1 }
      chats.top, chats.bottom = math.min(chats.top, info.winrow), math.max(chats.bottom, bottom)
      chats.left, chats.right = math.min(chats.left, info.wincol), math.max(chats.right, right)
    end
  end
  if not chats then return whole end
  local best, most = nil, 0 ---@type acp.Rect|nil, integer
  for edge, value in pairs({
    right = chats.left - 2,
    left = chats.right + 2,
    bottom = chats.top - 2,
    top = chats.bottom + 2,
  }) do
    local part = vim.tbl_extend('force', whole, { [edge] = value })
    local width, height = part.right - part.left + 1, part.bottom - part.top + 1
    if width >= NARROW and height >= LOW and width * height > most then
      best, most = part, width * height
    end
  end
  return best
end

--- Return the width of the widest line around the cursor.
---@param row integer 1-based
local function widest_near(bufnr, row)
  local widest = 0
  for _, line in
    ipairs(vim.api.nvim_buf_get_lines(bufnr, math.max(row - 1 - NEAR, 0), row + NEAR, false))
  do
    widest = math.max(widest, #line > LONG and LONG or text_width(line))
  end
  return widest
end

--- Return the cells to keep in view: all of a composer, in other windows the text of the lines
--- around the cursor. Nil while the cursor is in the float.
---@param only_line boolean whether the line of the cursor is enough
---@return acp.Rect|nil
local function clear_area(win, only_line)
  local here = vim.api.nvim_get_current_win()
  if here == win then return nil end
  local info = vim.fn.getwininfo(here)[1]
  if vim.bo[info.bufnr].filetype == 'acpcomposer' and not only_line then
    return {
      top = info.winrow,
      bottom = info.winrow + info.height - 1,
      left = info.wincol,
      right = info.wincol + info.width - 1,
    }
  end
  local at = vim.api.nvim_win_get_cursor(here)
  local screen = vim.fn.screenpos(here, at[1], at[2] + 1)
  if screen.row == 0 then return nil end
  local first, last = info.winrow + info.winbar, info.winrow + info.height - 1
  local right =
    math.max(screen.col + 1, info.wincol + info.textoff + widest_near(info.bufnr, at[1]))
  local near = only_line and 0 or NEAR
  return {
    top = math.max(screen.row - near, first),
    bottom = math.min(screen.row + near, last),
    left = info.wincol,
    right = math.min(right, info.wincol + info.width - 1),
  }
end

--- Return the maximum height of a float of this width in a corner.
---@param where string corner
---@param clear acp.Rect|nil cells that it must not cover
---@param part acp.Rect
local function room(where, width, clear, part)
  local first, last = part.top, part.bottom
  local is_right = where:sub(2) == 'E'
  local beside = clear
    and (
      is_right and clear.right <= part.right - width - BORDER
      or is_right and clear.left > part.right
      or not is_right and clear.left > part.left - 1 + width + BORDER
      or not is_right and clear.right < part.left
    )
  local all = last - first + 1
  if not clear or beside then return all - BORDER end
  local free = where:sub(1, 1) == 'N' and clear.top - first or last - clear.bottom
  return math.min(free, all) - BORDER -- the cells may be outside of the part
end

--- Return the maximum width of the float at its current place.
---@param win integer|nil the float, if it is open
---@return integer
function M.widest(win)
  local part = largest_free_part(win)
  if not part then return math.min(NARROW, vim.o.columns - 2 * BORDER) end
  return part.right - part.left + 1 - BORDER - (part.right == vim.o.columns and BORDER or 0)
end

--- Return the position of a float of this width and at most this height, less if there is no room.
---@param win integer|nil the float, if it is open
---@param over? 'chats'|'lines'|'all' for a small screen: it may cover chats, also all lines but
---  that of the cursor, or that as well
---@return vim.api.keyset.win_config
---@return boolean nowhere whether it would cover the text around the cursor everywhere
function M.place(width, height, win, over)
  local clear = over ~= 'all' and clear_area(win, over == 'lines') or nil
  local free = over and whole_screen() or largest_free_part(win)
  local part = free or whole_screen()
  local best, most = corner, room(corner, width, clear, part)
  for _, where in ipairs(ORDER) do
    local here = room(where, width, clear, part)
    if most < height and here > most then
      best, most = where, here
    end
  end
  corner = best
  local least = math.min(height, MIN_ROWS)
  return {
    relative = 'editor',
    anchor = corner,
    row = corner:sub(1, 1) == 'N' and part.top - 1 or part.bottom,
    col = corner:sub(2) == 'E' and part.right or part.left - 1,
    width = width,
    height = math.max(math.min(height, most), least),
  },
    not free or most < least
end

--- Reset the corner, so that the next float opens at the top right.
function M.forget() corner = ORDER[1] end

return M
