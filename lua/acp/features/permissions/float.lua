--- Float of pending questions at the top right of the current tab page. It is hidden if a window
--- shows all of the questions, or if it would cover a chat or the text around the cursor; then a
--- message announces a question. It never takes the focus; `:Acp permissions` or <C-w>w goes there.
local M = {}

local ns = vim.api.nvim_create_namespace('acp.permission')
local signals = require('acp.base.signals')
local scratch, text_width = require('acp.ui.scratch'), require('acp.base.text.width')
local legend = require('acp.features.permissions.legend')
local answer_rule = require('acp.features.permissions.answer_rule')
local cards = require('acp.features.permissions.cards')
local page = require('acp.features.permissions.page')
local wrap = require('acp.features.permissions.wrap')
local clock = require('acp.features.permissions.clock')

local WIDTH, HEIGHT, HIGHEST = 72, 0.5, 0.8
local MIN_ROWS, ABOVE_ALL = 3, 250 -- rows of a card that is cut; zindex

local IGNORED = 'acp: second press of a key that has answered'

local rows = {} ---@type acp.CardRow[] in the order of the float
local bufnr ---@type integer|nil
local win ---@type integer|nil
local top_id ---@type integer|string|nil first question when it was last drawn
local is_dismissed = false
local closed_in ---@type integer|nil tab page in which it has just been closed
local over_at ---@type number|nil when the last question ended while the cursor was in the float
local is_forced = false -- whether it may cover text, because a question was not seen
-- Size that the cards need (`width`, `rows`); rows of the first card's title, and down to its
-- options (`title`, `first`); minimum rows of that card: title, two rows and options (`least`).
---@type table<string, integer>
local extent = { width = 1, rows = 1, title = 1, first = 1, least = 1, widest = 1 }
local win_config ---@type vim.api.keyset.win_config|nil
local fitted = {} ---@type { rows?: integer, width?: integer, inside?: boolean } of the last cut

--- Return whether the float is open. A window that the user gave another buffer, as by `:buffer!`,
--- is theirs.
local function is_visible()
  return win ~= nil and vim.api.nvim_win_is_valid(win) and vim.api.nvim_win_get_buf(win) == bufnr
end

--- Return whether the cursor is in the float.
function M.is_current() return is_visible() and vim.api.nvim_get_current_win() == win end

--- Return whether the cursor is in a dialog, another plugin's float, that was opened in this float.
--- This float then keeps its place, since the cursor comes back to it.
local function asks_in_dialog()
  local here = vim.api.nvim_get_current_win()
  local is_dialog = here ~= win and not vim.w.acp and require('acp.ui.win').is_float(here)
  return is_dialog and is_visible() and vim.fn.win_getid(vim.fn.winnr('#')) == win
end

---@return acp.CardRow|nil
local function row_at_cursor()
  local at = vim.api.nvim_win_get_cursor(win --[[@as integer]])[1] - 1
  for _, row in ipairs(rows) do
    if at <= row.last then return row end
  end
  return rows[#rows]
end

--- Return whether the float shows only that its last question is over.
function M.is_over() return over_at ~= nil and is_visible() end

--- Return the number of the option under the cursor in the float.
---@return integer|nil
function M.option_at_cursor()
  local row = row_at_cursor()
  local first = row and row.option
  local i = first and vim.api.nvim_win_get_cursor(0)[1] - first
  return i and i > 0 and i <= #(cards.options(row.id) or {}) and i or nil
end

local function buffer()
  if not bufnr or not vim.api.nvim_buf_is_valid(bufnr) then
    bufnr = vim.api.nvim_create_buf(false, true)
    scratch.set_options(bufnr, {
      bufhidden = 'hide',
      modeline = false,
      modifiable = false,
      undolevels = -1,
      filetype = 'acppermission',
    })
    require('acp.ui.keymaps').attach('permission', bufnr)
  end
  return bufnr
end

--- Return the keys or commands that answer, and the number of hidden lines.
---@param more integer hidden rows
---@param width integer cells
local function footer(more, width)
  return M.is_current() and legend.footer_inside(cards.list(), width)
    or legend.footer(cards.list(), more, width)
end

--- Return the maximum height of the float: half of the screen, more if the first question or its
--- options fit then, or all of it while the cursor is in the float.
---@return integer rows
local function max_rows()
  if M.is_current() then return math.max(vim.o.lines, 3) end
  local highest = math.floor(vim.o.lines * HIGHEST)
  local first = extent.first <= highest and extent.first or 0
  local least = math.min(extent.least, highest)
  return math.max(math.floor(vim.o.lines * HEIGHT), first, least, 3)
end

--- Return the maximum width of the float at its current place.
local function widest()
  return require('acp.features.permissions.float_corner').widest(is_visible() and win or nil)
end

--- Return the maximum width of the text.
local function max_width() return math.min(WIDTH, extent.widest) end

--- Measure the size that the lines need. The width fits the widest line, title or footer.
local function measure(lines)
  local function widen(width)
    extent.width = math.max(math.min(width, max_width()), 1)
    extent.rows = wrap.min_rows(lines, extent.width)
    local first = page.cards(max_width())[1]
    local asks = (first.head or 0) + #(first.options or {}) + rows[1].first + extent.title - 1
    extent.first = wrap.min_rows(vim.list_slice(lines, 1, asks), extent.width)
    local options = vim.list_slice(lines, asks - #(first.options or {}) + 1, asks)
    local title = text_width(lines[1] or '') > extent.width and 2 or 1
    local words = math.ceil(extent.width * 0.75) -- lines wrap at words, which takes more rows
    extent.least = title + 2 + wrap.min_rows(options, words)
  end
  local width = text_width(footer(0, max_width()))
  extent.title = cards.count_sessions() > 1 and 2 or 1
  width = math.max(width, text_width(legend.footer_inside(cards.list(), max_width())))
  width = math.max(width, text_width(page.title(max_width())))
  for _, line in ipairs(lines) do
    width = math.max(width, text_width(line))
  end
  widen(width)
  if extent.rows > max_rows() then
    widen(math.max(width, text_width(footer(extent.rows, max_width()))))
  end
end

---@return vim.api.keyset.win_config
local function placement()
  local inside = M.is_current()
  local elsewhere = not inside and require('acp.features.permissions.in_view').where(cards.list())
    or nil
  local height = math.min(extent.rows, max_rows(), not inside and extent.cut or math.huge)
  local here = is_visible() and win or nil
  local corner = require('acp.features.permissions.float_corner')
  local config, nowhere = corner.place(extent.width, height, here)
  local function is_cut() return nowhere or config.height < math.min(height, extent.least) end
  local must_show = not inside
    and (is_forced or not require('acp.features.permissions.announcement').fits(cards.list()[1]))
  local is_typing = not is_forced and vim.api.nvim_get_mode().mode:find('^[iRst]') ~= nil
  for _, over in ipairs(must_show and { 'chats', is_typing and 'lines' or 'all' } or {}) do
    if is_cut() then
      config, nowhere = corner.place(extent.width, height, here, over)
    end
  end
  config.border = require('acp.ui.win').border()
  config.title = page.title(max_width())
  config.footer = footer(extent.rows - config.height, config.width)
  config.footer_pos = 'right'
  config.zindex = is_forced and ABOVE_ALL or 45
  config.hide = not inside and not is_forced and (elsewhere ~= nil or nowhere)
  return config
end

local function close()
  local old = is_visible() and win or nil
  win, top_id = nil, nil
  require('acp.ui.window').close(old)
  require('acp.features.permissions.float_corner').forget()
end

local function open()
  win_config = placement()
  local config = vim.tbl_extend('force', win_config, {})
  config.style = 'minimal'
  config.focusable = true
  win = vim.api.nvim_open_win(buffer(), false, config)
  require('acp.ui.window').adopt(win, {
    wrap = true,
    winhighlight = 'NormalFloat:AcpPermissionNormal,FloatBorder:AcpPermissionBorder',
  })
end

--- Restore the cursor to the same line of the same card. If the cursor is elsewhere, a new first
--- question is shown from its beginning: a buffer keeps its view when its window closes.
---@param before acp.CardRow|nil
local function restore_cursor(before, offset)
  local is_new = top_id ~= rows[1].id
  top_id = rows[1].id
  if not before or not M.is_current() then
    if is_new then
      vim.api.nvim_win_set_cursor(win --[[@as integer]], { 1, 0 })
    end
    return
  end
  for _, row in ipairs(rows) do
    if row.id == before.id then
      local line = math.min(row.first + offset, row.last) + 1
      vim.api.nvim_win_set_cursor(win --[[@as integer]], { line, 0 })
      return
    end
  end
  vim.api.nvim_win_set_cursor(win --[[@as integer]], { 1, 0 })
end

--- Fill the float with the cards.
---@param limit? integer maximum rows of a card
---@return string[] lines
local function fill(limit)
  local cut = limit and { rows = limit, width = win_config.width, inside = M.is_current() } or nil
  local lines, spans
  lines, spans, rows = page.text(max_width(), cut)
  scratch.fill(buffer(), lines, spans, ns)
  return lines
end

--- Fill the float and cut cards that do not fit. Lines wrap at words and may take more rows than
--- estimated; then cut further.
---@param limit? integer maximum rows of a card
local function fill_to_fit(limit)
  fill(limit)
  for _ = 1, limit and 4 or 0 do
    local last = math.min(rows[1].last, vim.api.nvim_buf_line_count(buffer()) - 1)
    local used = wrap.rows_in_window(win --[[@as integer]], last)
    if used <= win_config.height or limit <= MIN_ROWS then return end
    limit = math.max(limit - (used - win_config.height), MIN_ROWS)
    fill(limit)
  end
end

--- Return the card under the cursor in the float, and the line within it.
---@return acp.CardRow|nil
---@return integer offset
local function cursor_in_card()
  local before = M.is_current() and row_at_cursor() or nil
  local cursor = before and vim.api.nvim_win_get_cursor(win --[[@as integer]])[1] - 1 or 0
  return before, before and cursor - before.first or 0
end

--- Move the open float to its current placement.
local function reposition()
  if not is_visible() or asks_in_dialog() then return end
  local config = placement()
  if not vim.deep_equal(config, win_config) then
    win_config = config
    vim.api.nvim_win_set_config(win --[[@as integer]], config)
  end
end

--- Shrink the float if a cut card leaves rows blank.
local function shrink()
  local used = wrap.rows_in_window(win --[[@as integer]])
  if #rows > 1 or M.is_current() or used >= win_config.height then return end
  extent.cut = used
  reposition()
  fitted.rows = win_config.height
end

--- Cut the cards to the current size of the float, if that has changed.
local function fit()
  if not is_visible() or win_config.hide or asks_in_dialog() then return end
  local inside = M.is_current()
  local limit = win_config.height < extent.rows and win_config.height or nil
  local now = { rows = limit, width = limit and win_config.width, inside = limit and inside or nil }
  if not vim.deep_equal(now, fitted) then
    local before, offset = cursor_in_card()
    fitted = now
    fill_to_fit(limit)
    if limit then shrink() end
    restore_cursor(before, offset)
  end
end

--- Call `fn` once late keys are no longer expected. Until then, they must not be commands in the
--- window behind the float.
---@param since fun(): number|nil when the last question ended; nil: do not call `fn`
local function run_after_late_keys(since, fn)
  local late_ms = require('acp.buffers.typed_keys').LATE_MS
  vim.defer_fn(function()
    local at = since()
    if at and clock.ms() - at < late_ms then return run_after_late_keys(since, fn) end
    if at then fn() end
  end, late_ms)
end

--- Close the float and ignore the key that answered for a moment: a second press would be a command
--- in the window behind.
---@param key string
local function close_after_answer(key)
  close()
  local behind, since = vim.api.nvim_get_current_buf(), clock.ms()
  local name = vim.fn.keytrans(key)
  local map = vim.fn.maparg(name, 'n', false, true)
  vim.keymap.set('n', name, '<Nop>', { buffer = behind, nowait = true, desc = IGNORED })
  local function restore()
    if vim.fn.maparg(name, 'n', false, true).desc ~= IGNORED then return end
    vim.keymap.del('n', name, { buffer = behind })
    if map.buffer == 1 then vim.fn.mapset('n', false, map) end
  end
  run_after_late_keys(function() return since end, function()
    if vim.api.nvim_buf_is_loaded(behind) then vim.api.nvim_buf_call(behind, restore) end
  end)
end

--- Close the float after its last question. If the user is in it and has not answered, first show
--- for a moment that the question is over.
local function finish()
  local key = top_id and require('acp.features.permissions.pressed_keys').answering_key(top_id)
  if not M.is_current() then
    close()
  elseif key then
    close_after_answer(key)
  elseif not over_at then
    over_at = clock.ms()
    win_config.title = ' ' .. require('acp.base.messages').question_over .. ' '
    win_config.footer = ''
    vim.api.nvim_win_set_config(win --[[@as integer]], win_config)
    run_after_late_keys(function() return over_at end, function()
      close()
      over_at = nil
    end)
  end
end

local function draw()
  if #cards.list() == 0 then
    finish()
    is_dismissed = false
    return
  end
  over_at = nil
  if is_dismissed then return end
  local before, offset = cursor_in_card()
  extent.widest, extent.cut = widest(), nil
  measure(fill())
  fitted = {}
  if is_visible() then
    reposition()
  else
    open()
  end
  -- The wrapped text may take more rows than the estimate.
  local used = win_config.width == extent.width and wrap.rows_in_window(win) or extent.rows
  if used ~= extent.rows then
    extent.rows = used
    reposition()
  end
  fit()
  restore_cursor(before, offset)
end

--- Redraw the screen while a command line is typed, since Neovim does not do so then.
local function redraw_screen()
  if vim.api.nvim_get_mode().mode == 'c' then vim.cmd.redraw() end
end

--- Draw now, or as soon as Neovim allows windows.
local function redraw()
  require('acp.ui.window').when_free(function()
    draw()
    redraw_screen()
  end)
end

--- Update the keys below the cards in chats to the position of the cursor.
local function follow_cursor()
  local id = not M.is_current() and signals.emit('question_at_cursor') or nil
  if legend.enter(id) then signals.emit('questions_changed') end
end

--- Ask the host for the cards of all questions while the cursor is in the float.
local function ask_for_more()
  local host = require('acp.base.host')
  if M.is_current() and cards.count_without_card() > 0 and host.is_running() then
    host.notify('cards')
  end
end

local function adjust_size()
  if #cards.list() == 0 then return end
  follow_cursor()
  local is_stale = is_visible() and extent.widest ~= widest()
  if is_stale or not is_visible() and not is_dismissed then return redraw() end
  reposition()
  fit()
  redraw_screen()
end

--- Handle the closing of the float by the user, such as by :only. If it was visible, it opens again
--- with the next question, else at once. Closing its tab page does not count: the float then opens
--- in the tab page entered next.
local function dismiss()
  closed_in = vim.api.nvim_get_current_tabpage()
  win, top_id = nil, nil
  is_dismissed = not (win_config and win_config.hide)
  if not is_dismissed then vim.schedule(adjust_size) end
  vim.schedule(function() closed_in = nil end)
end

---@param args { event: string, match: string }
local function on_window(args)
  if args.event == 'WinClosed' then
    if win and tonumber(args.match) == win then dismiss() end
  elseif args.event == 'TabEnter' and not M.is_current() then
    is_dismissed = is_dismissed and not (closed_in and not vim.api.nvim_tabpage_is_valid(closed_in))
    close()
    redraw()
  else
    redraw()
  end
end

local register = require('acp.base.once')(function()
  local on = require('acp.base.autocmds').group('acp.permission')
  on({ 'WinClosed', 'TabEnter', 'VimResized' }, on_window)
  on('WinEnter', vim.schedule_wrap(ask_for_more))
  local moves = { 'WinEnter', 'WinLeave', 'WinScrolled', 'CursorMoved', 'CursorMovedI' }
  vim.list_extend(moves, { 'InsertEnter', 'InsertLeave' })
  vim.list_extend(moves, { 'TermEnter', 'TermLeave', 'TextChangedT' })
  vim.list_extend(moves, { 'BufWinEnter', 'WinResized' })
  on(moves, vim.schedule_wrap(adjust_size))
  on('User', vim.schedule_wrap(adjust_size), { pattern = 'AcpReview' })
  require('acp.ui.highlights').define()
end)

--- Return whether the float is hidden or smaller than its placement, as by another plugin.
local function is_reduced()
  local config = vim.api.nvim_win_get_config(win --[[@as integer]])
  return config.hide or config.width < win_config.width or config.height < win_config.height
end

--- Return the ids of the cards that are visible in the float.
---@return table<integer|string, true>
local function in_view()
  local ids = {}
  local here = is_visible() and vim.api.nvim_win_get_tabpage(win) or nil
  local hidden = here ~= vim.api.nvim_get_current_tabpage() or is_reduced()
  if hidden or require('acp.ui.win').is_covered(win) then return ids end
  local first, last = vim.fn.line('w0', win) - 1, vim.fn.line('w$', win) - 1
  for _, row in ipairs(rows) do
    if row.first <= last and row.last >= first then ids[row.id] = true end
  end
  return ids
end

---@return acp.OnScreen
local function on_screen()
  if cards.sort() then
    legend.update(cards.list())
    vim.schedule(redraw)
  end
  local elsewhere = require('acp.features.permissions.in_view')
  local ids = vim.tbl_extend('force', elsewhere.ids(), in_view())
  local screen = { pending = {}, ids = {}, cursor = M.here() }
  for _, card in ipairs(cards.list()) do
    screen.pending[card.id], screen.ids[card.id] = true, ids[card.id]
  end
  screen.oldest = elsewhere.subject() or (cards.list()[1] or {}).id
  screen.bufnr = vim.api.nvim_get_current_buf()
  screen.tick = vim.api.nvim_buf_get_changedtick(screen.bufnr)
  return screen
end

--- Show the float, even if it covers a chat or the cursor, until another question arrives. Close it
--- first, because it may be in another tab page and Neovim 0.10 cannot raise a window.
local function force()
  is_dismissed = false
  is_forced = require('acp.base.compat').raises_floats or not M.is_current()
  if not M.is_current() then close() end
  redraw()
end

local function watch()
  if #cards.list() > 0 then
    answer_rule.watch(on_screen, force, adjust_size)
  else
    answer_rule.stop()
  end
end

local function is_shown() return is_visible() and not win_config.hide end

--- Set the pending questions of session `n`, oldest first (`cards.set`).
---@param list acp.Card[]
---@param more? integer
function M.set(n, list, more)
  register()
  local arrived, first = cards.set(n, list, more)
  if not arrived then return end
  if arrived > 0 or #list == 0 then is_forced = false end
  if arrived > 0 then is_dismissed = false end
  if first and arrived > 0 then
    require('acp.features.permissions.announcement').add(first, arrived, is_shown)
  end
  legend.update(cards.list())
  watch()
  redraw()
  ask_for_more()
  vim.schedule(adjust_size)
end

--- Set the number of questions without a card of session `n`.
---@param more integer
function M.set_more(n, more)
  local had_more = cards.count_without_card() > 0
  cards.set_more(n, more)
  if not is_visible() or had_more ~= (cards.count_without_card() > 0) then
    redraw()
    return
  end
  if had_more then
    local last = vim.api.nvim_buf_line_count(buffer()) - 1
    scratch.replace(buffer(), last, last + 1, { page.more_line() })
  end
  adjust_size()
end

--- Remove all questions, because the host has ended.
function M.clear()
  cards.clear()
  legend.update(cards.list())
  watch()
  redraw()
end

--- Go to the float. Return false if no question is pending.
---@return boolean
function M.enter()
  if #cards.list() == 0 then return false end
  is_dismissed = false
  require('acp.ui.window').when_free(function()
    draw()
    vim.api.nvim_set_current_win(win --[[@as integer]])
    adjust_size()
  end)
  return true
end

--- Return the question whose card is under the cursor, in the float or in a chat.
---@return integer|string|nil
function M.here()
  if M.is_over() then return nil end
  if M.is_current() then return (row_at_cursor() or {}).id end
  return signals.emit('question_at_cursor')
end

return M
