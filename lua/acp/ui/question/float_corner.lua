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
local function room(where, width, clear)
  local first, last = rows()
  local right = where:sub(2) == 'E'
  local beside = clear
    and (
      right and clear.right <= vim.o.columns - width - BORDER
      or not right and clear.left > width + BORDER
    )
  if not clear or beside then return last - first + 1 - BORDER end
  local free = where:sub(1, 1) == 'N' and clear.top - first or last - clear.bottom
  return free - BORDER
end

--- Position of a float of this width, and of at most this height: less where there is no room for
--- it.
---@param win integer|nil the float, if it is open
---@return vim.api.keyset.win_config
function M.place(width, height, win)
  local clear = kept_clear(win)
  local best, most = corner, room(corner, width, clear)
  for _, where in ipairs(ORDER) do
    local here = room(where, width, clear)
    if most < height and here > most then
      best, most = where, here
    end
  end
  corner = best
  local first, last = rows()
  return {
    relative = 'editor',
    anchor = corner,
    row = corner:sub(1, 1) == 'N' and first - 1 or last,
    col = corner:sub(2) == 'E' and vim.o.columns or 0,
    width = width,
    height = math.max(math.min(height, most), math.min(height, LEAST)),
  }
end

--- The float has gone: the next one begins at the top right.
function M.forget() corner = ORDER[1] end

return M
