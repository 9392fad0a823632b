--- Windows the plugin opens. Views only: closing one ends nothing; none but our own is ever
--- taken. A window of ours has `w:acp` set and 'winfixbuf' on, unless it is alone (`sole_window`).
local M = {}

local set = require('acp.ui.win').set

---@alias acp.Layout 'right'|'left'|'top'|'bottom'|'float'

---@class acp.OpenOpts
---@field layout? acp.Layout default 'right'
---@field size? number a part of the screen when below 1, else columns or lines; default 0.4
---@field enter? boolean whether the focus goes there: only as the user's own act
---@field last? boolean with the cursor on the last line, so that it follows what comes
---@field side? boolean it stands in a column at a side, wherever in that
---@field under? integer window to split instead of the whole screen; of a float, to go below
---@field options? table<string, any> window options over the usual ones
---@field like? string where there is no room for more, a window of ours with such a name is taken
---@field leaving? boolean whether the user goes to the composer of such a window
---@field replaced? fun(bufnr: integer) what was shown there, after that

local MIN_COLUMNS, MIN_LINES = 20, 3

--- Neovim refuses windows in an <expr> mapping (E565), in the command-line window (E11) and
--- while it closes others (E1159, E814).
local REFUSED = { 'E565', 'E11:', 'E1159', 'E814', 'textlock' }

local function refused_for_now(why)
  return vim.iter(REFUSED):any(function(code) return why:find(code, 1, true) ~= nil end)
end

--- Call `fn`; where Neovim refuses windows just now, again as soon as it may be possible.
---@param fn fun(): any
---@return any result nil when it had to be put off
function M.when_free(fn)
  local ok, result = pcall(fn)
  if ok then return result end
  if not refused_for_now(tostring(result)) then error(result, 0) end
  local on, group = require('acp.base.autocmds').group('acp.window.' .. tostring(fn))
  local cmdwin = vim.fn.getcmdwintype() ~= ''
  on(cmdwin and 'CmdwinLeave' or { 'SafeState', 'ModeChanged' }, function()
    pcall(vim.api.nvim_del_augroup_by_id, group)
    vim.schedule(function() M.when_free(fn) end)
  end)
end

local function cells(size, whole, least)
  local wanted = size < 1 and math.floor(whole * size) or math.floor(size)
  return math.max(math.min(wanted, whole - least - 1), least)
end

---@param opts acp.OpenOpts
---@return vim.api.keyset.win_config
local function placement(opts)
  local layout, size = opts.layout or 'right', opts.size or 0.4
  if layout == 'float' then
    local width = cells(size, vim.o.columns, MIN_COLUMNS)
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
    config.width = cells(size, vim.o.columns, MIN_COLUMNS)
  else
    local whole = opts.under and vim.api.nvim_win_get_height(opts.under) or vim.o.lines
    config.height = cells(size, whole, MIN_LINES)
  end
  return config
end

--- A new split inherits the options of the window it came from; these must not come along.
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
  winbar = '',
}

--- Mark `win` as ours and set its options, for it alone.
---@param options? table<string, any>
function M.adopt(win, options)
  vim.w[win].acp = true
  for name, value in pairs(vim.tbl_extend('force', PLAIN, options or {})) do
    set(win, name, value)
  end
  set(win, 'winfixbuf', true)
  require('acp.ui.sole_window').watch()
  require('acp.ui.float_exit').watch()
end

---@class acp.Share
---@field part number of the screen's width
---@field width integer columns that this came to when it was last seen

local shares, columns = {}, 0 ---@type table<integer, acp.Share>, integer

local function note_share(win)
  local width = vim.api.nvim_win_get_width(win)
  if not shares[win] or shares[win].width ~= width then
    shares[win] = { part = math.min(width / columns, 0.99), width = width }
  end
end

local function note_shares()
  for win in pairs(shares) do
    if not vim.api.nvim_win_is_valid(win) then
      shares[win] = nil
    elseif vim.o.columns == columns then -- else it is the screen's new size that speaks
      note_share(win)
    end
  end
end

--- 'winfixwidth' would leave nothing of a small screen to the user's own windows.
local function keep_shares()
  columns = vim.o.columns
  for win, share in pairs(shares) do
    local tab = vim.api.nvim_win_is_valid(win) and vim.api.nvim_win_get_tabpage(win)
    if tab == vim.api.nvim_get_current_tabpage() then
      vim.api.nvim_win_set_width(win, cells(share.part, columns, MIN_COLUMNS))
      share.width = vim.api.nvim_win_get_width(win)
    end
  end
end

--- A window at a side keeps its part of the screen when that changes.
local function keep_share(win)
  if columns == 0 then
    local on = require('acp.base.autocmds').group('acp.window')
    on('WinResized', note_shares)
    on('VimResized', keep_shares)
  end
  columns = vim.o.columns
  note_share(win)
end

---@param opts acp.OpenOpts
local function dress(win, bufnr, opts)
  local side = opts.side or vim.list_contains({ 'left', 'right' }, opts.layout or 'right')
  local fixed = { winfixwidth = side, winfixheight = not side and opts.layout ~= 'float' }
  M.adopt(win, vim.tbl_extend('force', fixed, opts.options or {}))
  require('acp.ui.titles').entitle(win)
  if side then keep_share(win) end
  require('acp.ui.placement').opened(win)
  if opts.last then vim.api.nvim_win_set_cursor(win, { vim.api.nvim_buf_line_count(bufnr), 0 }) end
end

local ENTERING = 'BufEnter,BufLeave,WinEnter,WinLeave'

--- Call `fn` for a window where the user is not, or stays. Neovim would tell that it is entered.
---@param fn function
local function aside(fn, ...)
  local ignored = vim.go.eventignore
  local quiet = { eventignore = (ignored == '' and '' or ignored .. ',') .. ENTERING }
  local ok, why = require('acp.base.options').with(vim.go, quiet, fn, ...)
  if not ok then error(why, 0) end
end

--- Show `bufnr` in a window of ours in place of what is there; that one's buffer stays.
---@param opts acp.OpenOpts
---@return integer win
function M.replace(win, bufnr, opts)
  local before = vim.api.nvim_win_get_buf(win)
  set(win, 'winfixbuf', false)
  aside(vim.api.nvim_win_set_buf, win, bufnr)
  dress(win, bufnr, opts)
  if opts.enter then vim.api.nvim_set_current_win(win) end
  if opts.replaced then opts.replaced(before) end
  return win
end

---@param opts acp.OpenOpts
local function open(bufnr, opts)
  local layout = opts.layout or 'right'
  local room = require('acp.ui.placement')
  local above, taken
  if opts.like then
    local width = placement(opts).width
    above, taken = room.for_one(opts.like, layout, width, opts.leaving or false)
  end
  if above then
    local there = { layout = 'bottom', under = above, size = 0.5, side = true }
    opts = vim.tbl_extend('force', opts, there)
  end
  if taken then return M.replace(taken, bufnr, opts) end
  local below = require('acp.ui.below')
  if below.wanted(opts.under) then
    local float = below.open(bufnr, opts.under --[[@as integer]], opts.size, opts.enter or false)
    dress(float, bufnr, opts)
    return float
  end
  local config = placement(opts)
  local ok, win = pcall(vim.api.nvim_open_win, bufnr, opts.enter or false, config)
  if not ok and tostring(win):find('E36', 1, true) then
    local float = vim.tbl_extend('force', opts, { layout = 'float' })
    ok, win = pcall(vim.api.nvim_open_win, bufnr, opts.enter or false, placement(float))
  end
  if not ok then error(win, 0) end
  dress(win --[[@as integer]], bufnr, opts)
  if config.relative then
    require('acp.ui.float_room').keep(win --[[@as integer]])
  end
  if config.split and config.height then -- 'equalalways' may have had its say
    vim.api.nvim_win_set_height(win --[[@as integer]], config.height)
    require('acp.ui.rows').keep(win --[[@as integer]])
  end
  room.make()
  return win --[[@as integer]]
end

--- Open a window for `bufnr` beside everything else. The focus stays unless `opts.enter`. Where
--- Neovim refuses windows just now it is opened as soon as possible, and nil is returned.
---@param opts? acp.OpenOpts
---@return integer|nil winid
function M.open_beside(bufnr, opts)
  return M.when_free(
    function() return vim.api.nvim_buf_is_valid(bufnr) and open(bufnr, opts or {}) or nil end
  )
end

--- Move a window of ours below another one, with all that it shows and the user in it.
---@param upper integer
---@param height integer
function M.move_below(win, upper, height)
  local below = require('acp.ui.below')
  if below.wanted(upper) then return below.adopt(win, upper, height) end
  aside(vim.fn.win_splitmove, win, upper, { rightbelow = true })
  vim.api.nvim_win_set_height(win, height)
  require('acp.ui.rows').keep(win)
end

--- A window of the current tab page that shows `bufnr`.
---@param bufnr integer|nil
---@return integer|nil winid
function M.showing(bufnr)
  if not bufnr or not vim.api.nvim_buf_is_valid(bufnr) then return nil end
  local tab = vim.api.nvim_get_current_tabpage()
  local windows = vim.iter(vim.fn.win_findbuf(bufnr))
  return windows:find(function(win) return vim.api.nvim_win_get_tabpage(win) == tab end)
end

--- Show `bufnr` where a window of this tab page does, and go there with `opts.enter`; else beside
--- everything.
---@param opts acp.OpenOpts
---@return integer|nil winid
function M.show(bufnr, opts)
  local win = M.showing(bufnr)
  if not win then return M.open_beside(bufnr, opts) end
  if opts.enter then M.focus(win) end
  return win
end

--- The last window cannot be closed: it gets the user's last buffer, or an empty one.
local function leave(win, bufnr)
  set(win, 'winfixbuf', false)
  require('acp.ui.titles').untitle(win)
  vim.w[win].acp = nil
  local other = vim.fn.bufnr('#')
  if other < 1 or other == bufnr or not vim.bo[other].buflisted then
    other = vim.api.nvim_create_buf(true, false)
  end
  vim.api.nvim_win_set_buf(win, other)
end

--- Close `win` if it is there, the last one of the screen included.
---@param win integer|nil
function M.close(win)
  if not win or not vim.api.nvim_win_is_valid(win) then return end
  M.when_free(function()
    if not vim.api.nvim_win_is_valid(win) then return end
    local bufnr = vim.api.nvim_win_get_buf(win)
    require('acp.ui.float_exit').before_close(win)
    local ok, why = pcall(vim.api.nvim_win_close, win, true)
    if not ok and tostring(why):find('E444', 1, true) then
      leave(win, bufnr)
    elseif not ok then
      error(why, 0)
    end
  end)
end

--- Close every window that shows `bufnr`, in all tab pages; the buffer stays.
function M.close_all(bufnr)
  for _, win in ipairs(vim.fn.win_findbuf(bufnr)) do
    M.close(win)
  end
end

--- Make `win` the current one; the user's own act, so it may.
function M.focus(win)
  M.when_free(function() vim.api.nvim_set_current_win(win) end)
end

return M
