--- Where the float of decisions stands: in a corner of the screen that hides nothing of where the
--- user is, top right first. It stays there until they come that way.
local M = {}

local ORDER = { 'NE', 'SE', 'NW', 'SW' }
local BORDER, LEAST = 2, 3

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
--- user reads, where that leaves enough; all of it while the user reads in the float itself.
---@param win integer|nil the float
---@return acp.Rect
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
  local best, most = whole, 0
  for edge, value in
    pairs(taken and {
      right = taken.left - 2,
      left = taken.right + 2,
      bottom = taken.top - 2,
      top = taken.bottom + 2,
    } or {})
  do
    local part = vim.tbl_extend('force', whole, { [edge] = value })
    local width, height = part.right - part.left + 1, part.bottom - part.top + 1
    if width >= NARROW and height >= LOW and width * height > most then
      best, most = part, width * height
    end
  end
  return best
end

--- The cells to keep in view: all of a composer, elsewhere the cursor's row up to the cursor.
--- Nil while the user is in the float itself.
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
  return { top = screen.row, bottom = screen.row, left = info.wincol, right = screen.col + 1 }
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
  return part.right - part.left + 1 - BORDER - (part.right == vim.o.columns and BORDER or 0)
end

--- Position of a float of this width, and of at most this height: less where there is no room for
--- it.
---@param win integer|nil the float, if it is open
---@return vim.api.keyset.win_config
function M.place(width, height, win)
  local clear, part = kept_clear(win), area(win)
  local best, most = corner, room(corner, width, clear, part)
  for _, where in ipairs(ORDER) do
    local here = room(where, width, clear, part)
    if most < height and here > most then
      best, most = where, here
    end
  end
  corner = best
  return {
    relative = 'editor',
    anchor = corner,
    row = corner:sub(1, 1) == 'N' and part.top - 1 or part.bottom,
    col = corner:sub(2) == 'E' and part.right or part.left - 1,
    width = width,
    height = math.max(math.min(height, most), math.min(height, LEAST)),
  }
end

--- The float has gone: the next one begins at the top right.
function M.forget() corner = ORDER[1] end

return M
