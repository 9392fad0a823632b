--- Placement of another acp window: beside the user's windows if they keep enough room, otherwise
--- below the chat that the user is in, otherwise in place of an acp window.
local M = {}

local api = vim.api

local EACH = { row = 25, col = 8 } -- minimum columns or rows of each window in a row or column
local OWN = 80 -- columns that the user's windows keep; half of the screen if that is less
local STACKED = 10 -- rows of each of two windows in a column
local MIN_COLUMNS = 20 -- of a window

local READABLE = 30 -- minimum columns of a window that has a share of the screen, up to half of it

---@param size number fraction of the whole if below 1, else columns or lines
---@param whole integer
---@param least integer
---@return integer columns or lines
function M.cells(size, whole, least)
  local wanted = size < 1 and math.floor(whole * size) or math.floor(size)
  return math.max(math.min(wanted, whole - least - 1), least)
end

---@param size number
---@return integer columns of a window at a side
function M.width_at_side(size)
  local least = size < 1 and math.min(READABLE, math.floor(vim.o.columns / 2)) or MIN_COLUMNS
  return M.cells(size, vim.o.columns, math.max(least, MIN_COLUMNS))
end

local order, count = {}, 0 ---@type table<integer, integer>, integer

--- Record that an acp window has been opened or reused.
function M.on_opened(win)
  count = count + 1
  order[win] = count
end

---@param layout acp.Layout
local function is_at_side(layout) return layout == 'left' or layout == 'right' end

--- Return whether another window at that side would leave too little room for each. Neovim would
--- make some of them one column wide.
---@param layout acp.Layout
local function is_crowded(layout)
  local direction = is_at_side(layout) and 'row' or 'col'
  local windows = vim.fn.winlayout()
  local beside = windows[1] == direction and #windows[2] or 1
  return (beside + 1) * EACH[direction] > (direction == 'row' and vim.o.columns or vim.o.lines)
end

local function name_in(win) return api.nvim_buf_get_name(api.nvim_win_get_buf(win)) end

--- Return the acp windows of this tab page whose buffer name begins with `prefix`, without floats,
--- in the order of opening.
local function acp_windows(prefix)
  local wins = vim.tbl_filter(
    function(win) return vim.w[win].acp and vim.startswith(name_in(win), prefix) end,
    require('acp.ui.win').splits(0)
  )
  table.sort(wins, function(a, b) return (order[a] or 0) < (order[b] or 0) end)
  return wins
end

--- Return whether another window would leave too little room for the user's windows.
---@param windows integer[] the plugin's windows
---@param width integer|nil width of the new window
local function is_squeezed(windows, width)
  local columns, left = {}, vim.o.columns - (width or 0)
  for _, win in ipairs(windows) do
    columns[vim.fn.win_screenpos(win)[2]] = api.nvim_win_get_width(win) + 1
  end
  for _, used in pairs(columns) do
    left = left - used
  end
  return #windows > 0 and left < math.min(OWN, math.floor(vim.o.columns / 2))
end

--- Return whether the cursor is in a window, or in the composer of the chat that the window shows.
local function has_cursor(win)
  local here, n = api.nvim_get_current_win(), name_in(win):match('^acp://chat/(%d+)$')
  return win == here or n ~= nil and name_in(here) == 'acp://composer/' .. n
end

local ENDED = { closed = true, failed = true }

--- Return whether a window shows the chat of a session that has ended, and is not the current one.
local function shows_ended_session(win)
  local n = tonumber(name_in(win):match('^acp://chat/(%d+)$'))
  local session = n and require('acp.base.state').session(n)
  return session ~= nil and ENDED[session.status] and win ~= api.nvim_get_current_win()
end

--- Return the place for another window. `above` is the acp window to open it below, the chat that
--- the user is in. `taken` is the acp window to reuse: the chat of a session that has ended, else
--- the chat that the user leaves, else the oldest one. Both are nil if there is room at the side.
---@param prefix string name prefix of the windows to reuse
---@param layout acp.Layout
---@param width integer|nil
---@param leaving boolean whether the user is going to the composer of the new window
---@return integer|nil above
---@return integer|nil taken
function M.find(prefix, layout, width, leaving)
  if layout == 'float' then return nil end
  local windows = acp_windows(prefix)
  local is_tight = is_at_side(layout) and is_squeezed(windows, width)
  if not is_tight and not is_crowded(layout) then return nil end
  local ended = vim.iter(windows):find(shows_ended_session)
  if ended then return nil, ended end
  local own = vim.iter(windows):find(has_cursor)
  if leaving then return nil, own or windows[1] end
  if own and is_tight and api.nvim_win_get_height(own) > 2 * STACKED then return own end
  return nil, vim.iter(windows):find(function(win) return win ~= api.nvim_get_current_win() end)
end

--- Return the last window of a part of the layout.
---@param part any[] a node of |winlayout()|
---@return integer win
local function last_of(part) return part[1] == 'leaf' and part[2] or last_of(part[2][#part[2]]) end

--- Distribute the columns after a window was opened. Neovim takes them from the adjacent window
--- only, which from 0.12 on is the user's. If that leaves a window too narrow, make several acp
--- windows equally wide. If there is only one, make the user's windows equally wide, if
--- 'equalalways' is set.
function M.distribute_columns()
  local layout = vim.fn.winlayout()
  local parts = layout[1] == 'row' and layout[2] or {}
  local leaves, narrow = {}, false
  for _, part in ipairs(parts) do
    local win = last_of(part)
    if part[1] == 'leaf' and vim.w[win].acp then leaves[#leaves + 1] = win end
    narrow = narrow or api.nvim_win_get_width(win) < MIN_COLUMNS
  end
  if narrow and #leaves == 1 and vim.o.equalalways then
    vim.cmd('horizontal wincmd =') -- acp windows have 'winfixwidth'
  end
  for _, win in ipairs(narrow and #leaves > 1 and leaves or {}) do
    api.nvim_win_set_width(win, math.floor(vim.o.columns / #parts) - 1)
  end
end

return M
