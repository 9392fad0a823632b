--- Where the float of decisions stands: in a corner of the screen that hides nothing of where the
--- user is, top right first. It stays there until they come that way.
local M = {}

local text_width = require('acp.base.text_width')
local ORDER = { 'NE', 'SE', 'NW', 'SW' }
local BORDER, LEAST = 2, 3
local NEAR = 2 -- lines above and below the cursor's that the user reads with it
local LONG = 1000 -- bytes of a line that is as wide as any window

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

--- Whether a window at the top has a bar; what that says stays in view.
---@param top integer its row
local function bar(top)
  for _, win in ipairs(require('acp.ui.win').splits(0)) do
    local info = vim.fn.getwininfo(win)[1]
    if info.winbar == 1 and info.winrow == top then return true end
  end
  return false
end

--- Rows that floats may take.
---@return integer first
---@return integer last
local function rows()
  local top = tabline() and 2 or 1
  return bar(top) and top + 1 or top, vim.o.lines - vim.o.cmdheight - 1
end

local NARROW, LOW = 34, 5 -- cells and rows below which a part of the screen is no room

--- The part of the screen that floats may take: beside, above or below all chats, whose streams the
--- user reads; all of it while the user reads in the float itself. Nil where the chats leave none.
---@param win integer|nil the float
---@return acp.Rect|nil
local function area(win)
  local first, last = rows()
  local whole = { top = first, bottom = last, left = 1, right = vim.o.columns }
  if vim.api.nvim_get_current_win() == win then return whole end
  local taken ---@type acp.Rect|nil
  for _, one in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if require('acp.ui.chat.buffers').number(vim.api.nvim_win_get_buf(one)) then
      local info = vim.fn.getwininfo(one)[1]
      local right, bottom = info.wincol + info.width - 1, info.winrow + info.height - 1
      taken = taken or { top = last, bottom = first, left = vim.o.columns, right = 1 }
      taken.top, taken.bottom = math.min(taken.top, info.winrow), math.max(taken.bottom, bottom)
      taken.left, taken.right = math.min(taken.left, info.wincol), math.max(taken.right, right)
    end
  end
  if not taken then return whole end
  local best, most = nil, 0 ---@type acp.Rect|nil, integer
  for edge, value in pairs({
    right = taken.left - 2,
    left = taken.right + 2,
    bottom = taken.top - 2,
    top = taken.bottom + 2,
  }) do
    local part = vim.tbl_extend('force', whole, { [edge] = value })
    local width, height = part.right - part.left + 1, part.bottom - part.top + 1
    if width >= NARROW and height >= LOW and width * height > most then
      best, most = part, width * height
    end
  end
  return best
end

--- Cells of the widest of the lines around the cursor's.
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

--- The cells to keep in view: all of a composer, elsewhere the text of the cursor's line and of
--- those around it. Nil while the user is in the float itself.
---@return acp.Rect|nil
local function kept_clear(win)
  local here = vim.api.nvim_get_current_win()
  if here == win then return nil end
  local info = vim.fn.getwininfo(here)[1]
  if vim.bo[info.bufnr].filetype == 'acpcomposer' then
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
  return {
    top = math.max(screen.row - NEAR, first),
    bottom = math.min(screen.row + NEAR, last),
    left = info.wincol,
    right = math.min(right, info.wincol + info.width - 1),
  }
end

--- Lines that a float of this width may have there.
---@param clear acp.Rect|nil
---@param part acp.Rect
local function room(where, width, clear, part)
  local first, last = part.top, part.bottom
  local right = where:sub(2) == 'E'
  local beside = clear
    and (
      right and clear.right <= part.right - width - BORDER
      or right and clear.left > part.right
      or not right and clear.left > part.left - 1 + width + BORDER
      or not right and clear.right < part.left
    )
  if not clear or beside then return last - first + 1 - BORDER end
  local free = where:sub(1, 1) == 'N' and clear.top - first or last - clear.bottom
  return free - BORDER
end

--- The columns that a float may have where it stands now.
---@param win integer|nil the float, if it is open
---@return integer
function M.widest(win)
  local part = area(win)
  if not part then return NARROW end
  return part.right - part.left + 1 - BORDER - (part.right == vim.o.columns and BORDER or 0)
end

--- Position of a float of this width, and of at most this height: less where there is no room for
--- it. Second, whether there is no place where it would not cover what the user reads.
---@param win integer|nil the float, if it is open
---@return vim.api.keyset.win_config
---@return boolean nowhere
function M.place(width, height, win)
  local clear, found = kept_clear(win), area(win)
  local part = found or { top = 1, bottom = vim.o.lines, left = 1, right = vim.o.columns }
  local best, most = corner, room(corner, width, clear, part)
  for _, where in ipairs(ORDER) do
    local here = room(where, width, clear, part)
    if most < height and here > most then
      best, most = where, here
    end
  end
  corner = best
  local least = math.min(height, LEAST)
  return {
    relative = 'editor',
    anchor = corner,
    row = corner:sub(1, 1) == 'N' and part.top - 1 or part.bottom,
    col = corner:sub(2) == 'E' and part.right or part.left - 1,
    width = width,
    height = math.max(math.min(height, most), least),
  },
    not found or most < least
end

--- The float has gone: the next one begins at the top right.
function M.forget() corner = ORDER[1] end

return M
