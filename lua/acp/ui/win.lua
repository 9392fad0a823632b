--- Helpers for windows: floats and splits, options of one window, borders.
local M = {}

local api = vim.api

---@return boolean
function M.is_float(win) return api.nvim_win_get_config(win).relative ~= '' end

--- Scroll the current window until all of the lines are visible. If they don't fit, put the first
--- one at the top.
---@param first integer line of the cursor, or above it
---@param last integer
function M.reveal(first, last)
  if vim.fn.line('w$') >= last then return end
  local rows = vim.fn.getwininfo(api.nvim_get_current_win())[1].height
  local height = api.nvim_win_text_height(0, { start_row = first - 1, end_row = last - 1 }).all
  local at = vim.fn.getcurpos()
  if height >= rows then
    vim.fn.cursor(first, 1)
    vim.cmd('normal! zt')
  else
    vim.fn.cursor(last, 1)
    vim.cmd('normal! zb')
  end
  vim.fn.setpos('.', at)
end

--- Return the width of the text area of a window.
---@return integer cells
function M.text_columns(win)
  local info = vim.fn.getwininfo(win)[1]
  return info.width - info.textoff
end

--- Return the number of free cells after the text of a row in the narrowest window of a buffer.
---@param row integer 0-based
---@return number cells
function M.room_beside(bufnr, row)
  local line = api.nvim_buf_get_lines(bufnr, row, row + 1, false)[1] or ''
  local used, least = require('acp.base.text.width')(line), math.huge
  for _, win in ipairs(vim.fn.win_findbuf(bufnr)) do
    local columns = math.max(M.text_columns(win), 1)
    least = math.min(least, columns - used % columns)
  end
  return least
end

--- Return the windows of a tab page that are not floats.
---@param tab integer
---@return integer[]
function M.splits(tab)
  return vim.tbl_filter(
    function(win) return not M.is_float(win) end,
    api.nvim_tabpage_list_wins(tab)
  )
end

--- Set the local 'winbar' of a window. Neovim then lays out the winbars of all windows, and its
--- error about a window without room (E36) could wait for a key.
local function set_winbar(win, bar)
  local assignment = '&l:winbar = ' .. vim.fn.string(bar)
  local function assign() vim.cmd.let({ assignment, mods = { emsg_silent = true } }) end
  api.nvim_win_call(win, assign)
end

--- Set the local value of a window option. Characters of 'fillchars' that `value` leaves out are
--- the user's.
---@param value any
function M.set(win, name, value)
  if name == 'winbar' then return set_winbar(win, value) end
  if name == 'fillchars' and value ~= '' and vim.go.fillchars ~= '' then
    value = vim.go.fillchars .. ',' .. value
  end
  if name == 'winhighlight' then
    return require('acp.ui.window.menu_room').set_colors(win, value)
  end
  api.nvim_set_option_value(name, value, { scope = 'local', win = win })
end

--- Let the user resize a window and edit any buffer in it. In a float, also undo the options that
--- the style "minimal" leaves set for other buffers.
function M.unfix(win)
  for _, name in ipairs({ 'winfixbuf', 'winfixwidth', 'winfixheight' }) do
    M.set(win, name, false)
  end
  for _, name in ipairs(M.is_float(win) and { 'winhighlight', 'fillchars' } or {}) do
    M.set(win, name, '')
  end
end

--- Set 'winbar' if it has changed since the last call.
---@param bar string
function M.set_bar(win, bar)
  if vim.w[win].acp_bar == bar then return end
  vim.w[win].acp_bar = bar
  M.set(win, 'winbar', bar)
end

--- Return the previous window of the tab page.
---@return integer|nil
function M.previous()
  local win = vim.fn.win_getid(vim.fn.winnr('#'))
  return win ~= 0 and win or nil
end

--- Make a window the previous one, without autocommands. The current window stays current.
---@param win integer
function M.set_previous(win)
  local here = api.nvim_get_current_win()
  require('acp.base.options').with(vim.go, { eventignore = 'all' }, function()
    pcall(api.nvim_set_current_win, win)
    pcall(api.nvim_set_current_win, here)
  end)
end

--- Return whether a window is neither one of the plugin nor the preview beside a completion menu,
--- which is a float that takes no focus or a preview window.
local function is_user_window(win)
  if vim.w[win].acp or vim.wo[win].previewwindow then return false end
  return api.nvim_win_get_config(win).focusable
end

--- Return the window that the user works in: the current one, the previous one, or the one whose
--- buffer was used last. It is a window of the plugin only if the tab page has no other.
---@return integer
function M.work()
  local current = api.nvim_get_current_win()
  if not vim.w[current].acp then return current end
  local previous = M.previous()
  if previous and is_user_window(previous) then return previous end
  local best, last = current, -1
  for _, win in ipairs(M.splits(0)) do
    local used = vim.fn.getbufinfo(api.nvim_win_get_buf(win))[1].lastused
    if is_user_window(win) and used > last then
      best, last = win, used
    end
  end
  return best
end

--- Return the current window and buffer, for comparison with a later place.
---@return { win: integer, buf: integer }
function M.place() return { win = api.nvim_get_current_win(), buf = api.nvim_get_current_buf() } end

--- Return the numbers of screen rows and columns that the border of a float adds.
---@return integer rows
---@return integer columns
local function border_size(win)
  local border = api.nvim_win_get_config(win).border
  if type(border) ~= 'table' then return 0, 0 end
  local function size(side)
    local text = type(border[side]) == 'table' and border[side][1] or border[side]
    return text ~= '' and 1 or 0
  end
  return size(2) + size(6), size(4) + size(8) -- sides clockwise from the top left corner
end

---@return { top: integer, left: integer, bottom: integer, right: integer } screen cells, inclusive
local function rectangle(win)
  local info = vim.fn.getwininfo(win)[1]
  local rows, columns = border_size(win)
  return {
    top = info.winrow,
    left = info.wincol,
    bottom = info.winrow + info.height + rows - 1,
    right = info.wincol + info.width + columns - 1,
  }
end

--- Call back when a float of the current tab page has appeared, moved or closed. Neovim applies the
--- anchor of a float when it draws the screen, after SafeState; until then its position is wrong.
---@param on acp.On
---@param callback fun() called after the screen is drawn
function M.watch_floats(on, callback)
  local last = {} ---@type table[]
  on('SafeState', function()
    local now = {} ---@type table[]
    for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
      local config = api.nvim_win_get_config(win)
      if config.relative ~= '' then
        now[#now + 1] = { win, rectangle(win), config.zindex, config.hide }
      end
    end
    if not vim.deep_equal(now, last) then vim.schedule(callback) end
    last = now
  end)
end

--- Return the floats of the current tab page that overlap a part of a window.
---@param part { top: integer, left: integer, bottom: integer, right: integer }
---@return { win: integer, rows: integer, columns: integer }[] with the size of the overlap
local function overlaps(win, part)
  local level, overlapping = api.nvim_win_get_config(win).zindex or 0, {}
  for _, other in ipairs(api.nvim_tabpage_list_wins(0)) do
    local config = api.nvim_win_get_config(other)
    local is_above = other ~= win and config.relative ~= '' and config.zindex >= level
    if is_above and not config.hide then
      local area = rectangle(other)
      local rows = math.min(part.bottom, area.bottom) - math.max(part.top, area.top) + 1
      local columns = math.min(part.right, area.right) - math.max(part.left, area.left) + 1
      if rows > 0 and columns > 0 then
        overlapping[#overlapping + 1] = { win = other, rows = rows, columns = columns }
      end
    end
  end
  return overlapping
end

local BAR = 2 -- columns of a scroll bar at most

--- Return whether a float, other than a scroll bar or one with this filetype, covers a part of
--- these lines of a window.
---@param first integer 1-based
---@param last integer
---@param ignored string
---@return boolean
function M.are_covered(win, first, last, ignored)
  local part = rectangle(win)
  local text = api.nvim_buf_get_lines(api.nvim_win_get_buf(win), last - 1, last, false)[1] or ''
  part.top = vim.fn.screenpos(win, first, 1).row
  part.bottom = vim.fn.screenpos(win, last, math.max(#text, 1)).row
  local function covers(overlap)
    return overlap.columns > BAR and vim.bo[api.nvim_win_get_buf(overlap.win)].filetype ~= ignored
  end
  return vim.iter(overlaps(win, part)):any(covers)
end

--- Return whether floats of the current tab page cover half of a window or more.
---@return boolean
function M.is_covered(win)
  local own, hidden = rectangle(win), 0
  for _, overlap in ipairs(overlaps(win, own)) do
    hidden = hidden + overlap.rows * overlap.columns
  end
  return 2 * hidden >= (own.bottom - own.top + 1) * (own.right - own.left + 1)
end

--- Return the border of floats: 'winborder' if the user has set it, otherwise rounded.
---@return string
function M.border()
  local ok, border = pcall(function() return vim.o.winborder end)
  return ok and border ~= '' and border or 'rounded'
end

--- Escape `%` for 'winbar' and 'statusline'.
---@return string
function M.literal(text) return (text:gsub('%%', '%%%%')) end

return M
