--- Windows that the plugin opens. They are only views: closing one does not end a session or a
--- turn. The plugin never takes one of the user's windows. An acp window has `w:acp` and
--- 'winfixbuf' set, unless the user has no window in the tab page (`sole_window`).
local M = {}

local set, room = require('acp.ui.win').set, require('acp.ui.window.placement')

---@alias acp.Layout 'right'|'left'|'top'|'bottom'|'float'

---@class acp.OpenOpts
---@field layout? acp.Layout default 'right'
---@field size? number fraction of the screen if below 1, else columns or lines; default 0.4
---@field enter? boolean whether to focus the window; only for a user action
---@field last? boolean whether to put the cursor on the last line, so that the window follows it
---@field side? boolean whether the window is in a column at a side
---@field under? integer window to split instead of the whole screen; a float to open below
---@field options? table<string, any> window options in addition to the usual ones
---@field like? string name prefix of an acp window to reuse if there is no room for another window
---@field leaving? boolean whether the user is going to the composer of such a window
---@field replaced? fun(bufnr: integer) called after the buffer of a reused window was replaced

local MIN_COLUMNS, MIN_LINES = 20, 3

--- Errors with which Neovim refuses windows: in an <expr> mapping (E565), in the command-line
--- window (E11) and while it closes others (E1159, E814).
local REFUSED = { 'E565', 'E11:', 'E1159', 'E814', 'textlock' }

local function refused_for_now(why)
  return vim.iter(REFUSED):any(function(code) return why:find(code, 1, true) ~= nil end)
end

--- Call `fn`. If Neovim refuses windows at the moment, call it again as soon as possible.
---@param fn fun(): any
---@return any result nil if the call was postponed
function M.when_free(fn)
  local ok, result = pcall(fn)
  if ok then return result end
  if not refused_for_now(tostring(result)) then error(result, 0) end
  local on, group = require('acp.base.autocmds').group('acp.window.' .. tostring(fn))
  local is_in_cmdwin = vim.fn.getcmdwintype() ~= ''
  on(is_in_cmdwin and 'CmdwinLeave' or { 'SafeState', 'ModeChanged' }, function()
    pcall(vim.api.nvim_del_augroup_by_id, group)
    vim.schedule(function() M.when_free(fn) end)
  end)
end

---@param opts acp.OpenOpts
---@return vim.api.keyset.win_config
local function placement(opts)
  local layout, size = opts.layout or 'right', opts.size or 0.4
  if layout == 'float' then
    local width = room.cells(size, vim.o.columns, MIN_COLUMNS)
    return {
      relative = 'editor',
      row = 0,
      col = vim.o.columns - width - 2,
      width = width,
      height = math.max(vim.o.lines - vim.o.cmdheight - 4, MIN_LINES),
      border = require('acp.ui.win').border(),
      zindex = 40,
    }
  end
  local split = ({ top = 'above', bottom = 'below' })[layout] or layout
  local config = { split = split, win = opts.under or -1 }
  if split == 'left' or split == 'right' then
    config.width = room.width_at_side(size)
  else
    local whole = opts.under and vim.api.nvim_win_get_height(opts.under) or vim.o.lines
    config.height = room.cells(size, whole, MIN_LINES)
  end
  return config
end

--- Options that a new split must not inherit from the window that was split.
local PLAIN = {
  diff = false,
  scrollbind = false,
  cursorbind = false,
  previewwindow = false,
  number = false,
  relativenumber = false,
  signcolumn = 'no',
  foldcolumn = '0',
  colorcolumn = '',
  statuscolumn = '',
  list = false,
  spell = false,
  wrap = true,
  linebreak = true,
  breakindent = true,
  foldmethod = 'manual',
  fillchars = 'eob: ',
  winbar = '',
  -- Some colour schemes dim the bar, which shows the agent's state, until it can't be read.
  winhighlight = 'WinBarNC:WinBar',
}

--- Mark `win` as an acp window and set its local options.
---@param options? table<string, any>
function M.adopt(win, options)
  vim.w[win].acp = true
  vim.w[win].acp_buffer = vim.api.nvim_win_get_buf(win)
  for name, value in pairs(vim.tbl_extend('force', PLAIN, options or {})) do
    set(win, name, value)
  end
  set(win, 'winfixbuf', true)
  vim.w[win].acp_bar = nil -- the options above have replaced it
  require('acp.ui.window.whole_words').keep()
  require('acp.ui.window.sole_window').watch()
  require('acp.ui.window.float_exit').watch()
end

---@class acp.Share
---@field part number fraction of the screen's width
---@field width integer last known width in columns

local shares, columns = {}, 0 ---@type table<integer, acp.Share>, integer

local function record_share(win)
  local width = vim.api.nvim_win_get_width(win)
  if not shares[win] or shares[win].width ~= width then
    shares[win] = { part = math.min(width / columns, 0.99), width = width }
  end
end

local function record_shares()
  for win in pairs(shares) do
    if not vim.api.nvim_win_is_valid(win) then
      shares[win] = nil
    elseif vim.o.columns == columns then -- otherwise the screen was resized
      record_share(win)
    end
  end
end

--- Scale the windows at a side after the screen was resized. With 'winfixwidth' alone, a smaller
--- screen would leave no room for the user's windows.
local function keep_shares()
  columns = vim.o.columns
  for win, share in pairs(shares) do
    local tab = vim.api.nvim_win_is_valid(win) and vim.api.nvim_win_get_tabpage(win)
    if tab == vim.api.nvim_get_current_tabpage() then
      vim.api.nvim_win_set_width(win, room.cells(share.part, columns, MIN_COLUMNS))
      share.width = vim.api.nvim_win_get_width(win)
    end
  end
end

--- Keep the fraction of the screen that a window at a side has.
local function keep_share(win)
  if columns == 0 then
    local on = require('acp.base.autocmds').group('acp.window')
    on('WinResized', record_shares)
    on('VimResized', keep_shares)
  end
  columns = vim.o.columns
  record_share(win)
end

---@param opts acp.OpenOpts
local function set_up(win, bufnr, opts)
  local side = opts.side or vim.list_contains({ 'left', 'right' }, opts.layout or 'right')
  local fixed = { winfixwidth = side, winfixheight = not side and opts.layout ~= 'float' }
  M.adopt(win, vim.tbl_extend('force', fixed, opts.options or {}))
  require('acp.ui.window.titles').set_title(win)
  if side then keep_share(win) end
  room.on_opened(win)
  if opts.last then vim.api.nvim_win_set_cursor(win, { vim.api.nvim_buf_line_count(bufnr), 0 }) end
end

local ENTERING = 'BufEnter,BufLeave,WinEnter,WinLeave'

--- Call `fn` without the autocommands for entering, which Neovim would fire although the user does
--- not enter another window.
---@param fn function
local function without_entering(fn, ...)
  require('acp.base.options').without_events(ENTERING, fn, ...)
end

--- Show `bufnr` in an acp window in place of the window's buffer, which stays loaded.
---@param opts acp.OpenOpts
---@return integer win
function M.replace(win, bufnr, opts)
  local before = vim.api.nvim_win_get_buf(win)
  set(win, 'winfixbuf', false)
  without_entering(vim.api.nvim_win_set_buf, win, bufnr)
  set_up(win, bufnr, opts)
  if opts.enter then vim.api.nvim_set_current_win(win) end
  if opts.replaced then opts.replaced(before) end
  return win
end

---@param opts acp.OpenOpts
local function open(bufnr, opts)
  local layout = opts.layout or 'right'
  local above, taken
  if opts.like then
    local width = placement(opts).width
    above, taken = room.find(opts.like, layout, width, opts.leaving or false)
  end
  if above then
    local stacked = { layout = 'bottom', under = above, size = 0.5, side = true }
    opts = vim.tbl_extend('force', opts, stacked)
  end
  if taken then return M.replace(taken, bufnr, opts) end
  local below = require('acp.ui.window.below')
  if below.is_wanted(opts.under) then
    local float = below.open(bufnr, opts.under --[[@as integer]], opts.size, opts.enter or false)
    set_up(float, bufnr, opts)
    return float
  end
  local config = placement(opts)
  local ok, win = pcall(vim.api.nvim_open_win, bufnr, opts.enter or false, config)
  if not ok and tostring(win):find('E36', 1, true) then
    local float = vim.tbl_extend('force', opts, { layout = 'float' })
    ok, win = pcall(vim.api.nvim_open_win, bufnr, opts.enter or false, placement(float))
  end
  if not ok then error(win, 0) end
  ---@cast win integer
  set_up(win, bufnr, opts)
  if config.relative then require('acp.ui.window.float_room').keep(win) end
  if config.split and config.height then -- 'equalalways' may have changed it
    vim.api.nvim_win_set_height(win, config.height)
    require('acp.ui.window.rows').keep(win)
  end
  room.distribute_columns()
  return win
end

--- Open a window for `bufnr` at an edge of the screen. The focus does not move unless `opts.enter`
--- is set. If Neovim refuses windows at the moment, open it later and return nil.
---@param opts? acp.OpenOpts
---@return integer|nil winid
function M.open_beside(bufnr, opts)
  return M.when_free(
    function() return vim.api.nvim_buf_is_valid(bufnr) and open(bufnr, opts or {}) or nil end
  )
end

--- Widen the only window beside the user's again, after another window has left the row.
---@param opts acp.OpenOpts
function M.restore_width(win, opts)
  local width, layout = placement(opts).width, vim.fn.winlayout()
  local is_alone = layout[1] == 'row' and #layout[2] == 2
  if width and is_alone and vim.api.nvim_win_get_width(win) < width then
    vim.api.nvim_win_set_width(win, width)
  end
end

--- Move an acp window below the window `upper`. If the moved window is current, it stays current.
---@param upper integer
---@param height integer
function M.move_below(win, upper, height)
  local below = require('acp.ui.window.below')
  if below.is_wanted(upper) then return below.adopt(win, upper, height) end
  without_entering(vim.fn.win_splitmove, win, upper, { rightbelow = true })
  vim.api.nvim_win_set_height(win, height)
  require('acp.ui.window.rows').keep(win)
end

--- Return a window of the current tab page that shows `bufnr`.
---@param bufnr integer|nil
---@return integer|nil winid
function M.showing(bufnr)
  if not bufnr or not vim.api.nvim_buf_is_valid(bufnr) then return nil end
  local tab = vim.api.nvim_get_current_tabpage()
  local windows = vim.iter(vim.fn.win_findbuf(bufnr))
  return windows:find(function(win) return vim.api.nvim_win_get_tabpage(win) == tab end)
end

--- Return a window of this tab page that shows `bufnr`, opening one if needed. Focus it if
--- `opts.enter` is set.
---@param opts acp.OpenOpts
---@return integer|nil winid
function M.show(bufnr, opts)
  local win = M.showing(bufnr)
  if not win then return M.open_beside(bufnr, opts) end
  if opts.enter then M.focus(win) end
  return win
end

--- Return the buffer that the user left last: the alternate one, or else the one used last.
---@param bufnr integer buffer to leave out
---@return integer|nil
local function last_buffer(bufnr)
  local listed, last = vim.fn.getbufinfo({ buflisted = 1 }), nil ---@type table[], table?
  for _, info in ipairs(listed) do
    local is_other = info.bufnr ~= bufnr
    if is_other and info.bufnr == vim.fn.bufnr('#') then return info.bufnr end
    if is_other and (not last or info.lastused > last.lastused) then last = info end
  end
  return last and last.bufnr
end

--- Show the buffer that the user left last, or an empty one, in the last window, which cannot be
--- closed.
local function release(win, bufnr)
  require('acp.ui.win').unfix(win)
  require('acp.ui.window.titles').reset_title(win)
  vim.w[win].acp = nil
  vim.api.nvim_win_set_buf(win, last_buffer(bufnr) or vim.api.nvim_create_buf(true, false))
end

--- Close `win` if it exists. If it is the last one, only replace its buffer.
---@param win integer|nil
function M.close(win)
  if not win or not vim.api.nvim_win_is_valid(win) then return end
  M.when_free(function()
    if not vim.api.nvim_win_is_valid(win) then return end
    local bufnr = vim.api.nvim_win_get_buf(win)
    require('acp.ui.window.float_exit').before_close(win)
    local ok, why = pcall(vim.api.nvim_win_close, win, true)
    if not ok and tostring(why):find('E444', 1, true) then
      release(win, bufnr)
    elseif not ok then
      error(why, 0)
    end
  end)
end

--- Close the current window and go back to the previous one.
function M.leave()
  local win, before = vim.api.nvim_get_current_win(), require('acp.ui.win').previous()
  M.close(win)
  if before and vim.api.nvim_win_is_valid(before) and not vim.api.nvim_win_is_valid(win) then
    M.focus(before)
  end
end

--- Close every window that shows `bufnr`, in all tab pages. The buffer stays loaded.
function M.close_all(bufnr)
  for _, win in ipairs(vim.fn.win_findbuf(bufnr)) do
    M.close(win)
  end
end

--- Focus `win`. Call this only for a user action.
function M.focus(win)
  M.when_free(function() vim.api.nvim_set_current_win(win) end)
end

return M
