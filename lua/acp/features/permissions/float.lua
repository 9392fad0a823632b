--- Float of pending questions at the top right of the current tab page. It is hidden if a window
--- shows all of the questions, or if it would cover a chat or the text around the cursor; then a
--- message announces a question. It never takes the focus; `:Acp permissions` or <C-w>w goes there.
local M = {}

local ns = vim.api.nvim_create_namespace('acp.permission')
local signals = require('acp.base.signals')
local scratch, text_width = require('acp.ui.scratch'), require('acp.base.text.width')
local legend = require('acp.features.permissions.legend')
local answer_rule = require('acp.features.permissions.answer_rule')
local without_title = require('acp.features.permissions.without_title')
local wrap = require('acp.features.permissions.wrap')

local WIDTH, HEIGHT, HIGHEST = 72, 0.5, 0.8
local MIN_ROWS, ABOVE_ALL = 3, 250 -- rows of a card that is cut; zindex

---@class acp.Card
---@field id integer|string
---@field subject? string 'permission', 'access', 'command', 'elicitation' or 'consent'
---@field title? string title in its first line; empty if the title has several lines
---@field lines string[]
---@field spans acp.Span[]
---@field head? integer lines above its options
---@field lead? integer number of first lines that show the allowed action; default 1
---@field more? boolean whether it has text besides its edits
---@field diffs? boolean whether it contains edits
---@field options acp.PermissionOption[]
---@field session integer
---@field order integer number of its arrival

---@class acp.CardRow
---@field first integer 0-based
---@field last integer 0-based, inclusive
---@field id integer|string
---@field option? integer row of its first option

local cards, rows = {}, {} ---@type acp.Card[], acp.CardRow[] in the order of the float
local waiting = {} ---@type table<integer, integer> by session: questions without a card
local arrivals = 0
local bufnr ---@type integer|nil
local win ---@type integer|nil
local is_dismissed = false
local closed_in ---@type integer|nil tab page in which it has just been closed
local is_forced = false -- whether it is shown whatever it covers, since a question was not seen
local sorted_for ---@type integer|nil session whose cards come first
-- Size that the cards need, and rows of the first card down to its options.
---@type table<string, integer>
local extent = { width = 1, rows = 1, title = 1, first = 1, widest = 1 }
local win_config ---@type vim.api.keyset.win_config|nil
local unannounced ---@type { card: acp.Card, count: integer }|nil new questions
local fitted = {} ---@type { rows?: integer, width?: integer, inside?: boolean } of the last cut

local function is_visible() return win ~= nil and vim.api.nvim_win_is_valid(win) end

--- Return whether the cursor is in the float.
function M.is_current() return is_visible() and vim.api.nvim_get_current_win() == win end

---@return acp.CardRow|nil
local function row_at_cursor()
  local at = vim.api.nvim_win_get_cursor(win --[[@as integer]])[1] - 1
  for _, row in ipairs(rows) do
    if at <= row.last then return row end
  end
  return rows[#rows]
end

---@param id integer|string
---@return acp.Card|nil
function M.card(id)
  return vim.iter(cards):find(function(card) return card.id == id end)
end

function M.options(id) return (M.card(id) or {}).options end

--- Return the number of the option under the cursor in the float.
---@return integer|nil
function M.option_at_cursor()
  local row = row_at_cursor()
  local first = row and row.option
  local i = first and vim.api.nvim_win_get_cursor(0)[1] - first
  return i and i > 0 and i <= #(M.options(row.id) or {}) and i or nil
end

local function count_sessions()
  local found = {}
  for _, card in ipairs(cards) do
    found[card.session] = true
  end
  return vim.tbl_count(found)
end

--- Return the number of questions without a card.
local function count_without_card()
  local count = 0
  for _, more in pairs(waiting) do
    count = count + more
  end
  return count
end

--- Return the card whose title is the title of the float: a single card whose title fits.
---@return acp.Card|nil
local function card_of_title()
  local card = #cards == 1 and count_without_card() == 0 and cards[1] or nil
  local width = card and text_width(card.title or '') or 0
  return width > 0 and width + 2 <= math.min(WIDTH, extent.widest) and card or nil
end

--- Return the cards as the float shows them.
---@return acp.Card[]
local function in_float() return card_of_title() and { without_title(cards[1]) } or cards end

--- Return the line below the last card.
local function more_line() return ('… and %d more'):format(count_without_card()) end

--- Return the text of the float: all cards, each with its session if there are several. The middle
--- of a card is cut if it takes more than `limit` screen rows.
---@return string[] lines
---@return acp.Span[] spans
local function page(limit)
  local lines, spans = {}, {}
  local several = count_sessions() > 1
  rows = {}
  for i, card in ipairs(in_float()) do
    if i > 1 then lines[#lines + 1] = '' end
    local first = #lines
    if several then
      local label = card.session == 0 and 'no session' or 'session ' .. card.session
      spans[#spans + 1] = { #lines, 0, #label, 'AcpMuted' }
      lines[#lines + 1] = label
    end
    local shown = limit
        and require('acp.features.permissions.card_fitting').card(
          card,
          win_config.width,
          several and limit - 1 or limit,
          M.is_current()
        )
      or card
    for _, span in ipairs(shown.spans or {}) do
      spans[#spans + 1] = { span[1] + #lines, span[2], span[3], span[4] }
    end
    local option = shown.head and #lines + shown.head
    vim.list_extend(lines, shown.lines)
    rows[#rows + 1] = { first = first, last = #lines - 1, id = card.id, option = option }
  end
  if count_without_card() > 0 then
    vim.list_extend(lines, { '', more_line() })
    spans[#spans + 1] = { #lines - 1, 0, #lines[#lines], 'AcpMuted' }
  end
  return lines, spans
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

local function float_title()
  local card = card_of_title()
  if card then return (' %s '):format(card.title) end
  local count = #cards + count_without_card()
  return count == 1 and ' question ' or (' %d questions '):format(count)
end

--- Return the keys or commands that answer, and the number of hidden lines.
---@param more integer hidden rows
---@param room integer cells
local function footer(more, room)
  return M.is_current() and legend.footer_inside(cards, room) or legend.footer(cards, more, room)
end

--- Return the maximum height of the float: half of the screen, or more if the first question fits
--- then, or all of it while the cursor is in the float.
---@return integer rows
local function max_rows()
  if M.is_current() then return math.max(vim.o.lines, 3) end
  local first = extent.first <= math.floor(vim.o.lines * HIGHEST) and extent.first or 0
  return math.max(math.floor(vim.o.lines * HEIGHT), first, 3)
end

--- Return the maximum width of the float at its current place.
local function widest()
  return require('acp.features.permissions.float_corner').widest(is_visible() and win or nil)
end

--- Measure the size that the lines need. The width is that of the widest line, title or footer.
local function measure(lines)
  local function widen(width)
    extent.width = math.max(math.min(width, WIDTH, extent.widest), 1)
    extent.rows = wrap.min_rows(lines, extent.width)
    local first = in_float()[1]
    local asks = (first.head or 0) + #(first.options or {}) + rows[1].first + extent.title - 1
    extent.first = wrap.min_rows(vim.list_slice(lines, 1, asks), extent.width)
  end
  local room = math.min(WIDTH, extent.widest)
  local width = text_width(footer(0, room))
  extent.title = count_sessions() > 1 and 2 or 1
  width = math.max(width, text_width(legend.footer_inside(cards, room)))
  width = math.max(width, text_width(float_title()))
  for _, line in ipairs(lines) do
    width = math.max(width, text_width(line))
  end
  widen(width)
  if extent.rows > max_rows() then widen(math.max(width, text_width(footer(extent.rows, room)))) end
end

---@return vim.api.keyset.win_config
local function placement()
  local inside = M.is_current()
  local elsewhere = not inside and require('acp.features.permissions.in_view').where(cards) or nil
  local height = math.min(extent.rows, max_rows(), not inside and extent.cut or math.huge)
  local here = is_visible() and win or nil
  local corner = require('acp.features.permissions.float_corner')
  local config, nowhere = corner.place(extent.width, height, here)
  config.border = require('acp.ui.win').border()
  config.title = float_title()
  config.footer = footer(extent.rows - config.height, config.width)
  config.footer_pos = 'right'
  config.zindex = is_forced and ABOVE_ALL or 45
  config.hide = not inside and not is_forced and (elsewhere ~= nil or nowhere)
  return config
end

local function close()
  local old = win
  win = nil
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

--- Restore the cursor to the same line of the same card.
---@param before acp.CardRow|nil
local function restore_cursor(before, offset)
  if not before or not M.is_current() then return end
  for _, row in ipairs(rows) do
    if row.id == before.id then
      local line = math.min(row.first + offset, row.last) + 1
      vim.api.nvim_win_set_cursor(win --[[@as integer]], { line, 0 })
      return
    end
  end
  vim.api.nvim_win_set_cursor(win --[[@as integer]], { 1, 0 })
end

--- Fill the float and cut cards that do not fit. Lines wrap at words and may take more rows than
--- estimated; then cut further.
---@param limit? integer maximum rows of a card
local function fill_float(limit)
  local lines, spans = page(limit)
  scratch.fill(buffer(), lines, spans, ns)
  for _ = 1, limit and 4 or 0 do
    local last = math.min(rows[1].last, vim.api.nvim_buf_line_count(buffer()) - 1)
    local used = wrap.rows_in_window(win --[[@as integer]], last)
    if used <= win_config.height or limit <= MIN_ROWS then return end
    limit = math.max(limit - (used - win_config.height), MIN_ROWS)
    lines, spans = page(limit)
    scratch.fill(buffer(), lines, spans, ns)
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
  if not is_visible() then return end
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
  if not is_visible() or win_config.hide then return end
  local inside = M.is_current()
  local limit = win_config.height < extent.rows and win_config.height or nil
  local now = { rows = limit, width = limit and win_config.width, inside = limit and inside or nil }
  if not vim.deep_equal(now, fitted) then
    local before, offset = cursor_in_card()
    fitted = now
    fill_float(limit)
    if limit then shrink() end
    restore_cursor(before, offset)
  end
end

local function draw()
  if #cards == 0 then
    close()
    is_dismissed = false
    return
  end
  if is_dismissed then return end
  local before, offset = cursor_in_card()
  extent.widest, extent.cut = widest(), nil
  local lines, spans = page()
  scratch.fill(buffer(), lines, spans, ns)
  fitted = {}
  measure(lines)
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

--- Announce the new questions, unless the first one has ended.
local function announce()
  local now = unannounced
  unannounced = nil
  if not now or not vim.iter(cards):any(function(card) return card.id == now.card.id end) then
    return
  end
  local shown = is_visible() and not win_config.hide
  require('acp.features.permissions.announcement')(now.card, now.count, shown)
end

--- Update the keys below the cards in chats to the position of the cursor.
local function follow_cursor()
  local id = not M.is_current() and signals.emit('question_at_cursor') or nil
  if legend.enter(id) then signals.emit('questions_changed') end
end

--- Ask the host for the cards of all questions while the cursor is in the float.
local function ask_for_more()
  local host = require('acp.base.host')
  if M.is_current() and count_without_card() > 0 and host.is_running() then host.notify('cards') end
end

local function adjust_size()
  if #cards == 0 then return end
  follow_cursor()
  local stale = is_visible() and extent.widest ~= widest()
  if stale or not is_visible() and not is_dismissed then return redraw() end
  reposition()
  fit()
  redraw_screen()
end

--- Handle a close by the user, such as by :only. If the float was on the screen, it returns with
--- the next question, else at once. Closing a tab page does not count as closing the float, which
--- then opens in the tab page entered next.
local function dismiss()
  closed_in = vim.api.nvim_get_current_tabpage()
  win, is_dismissed = nil, not (win_config and win_config.hide)
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

local function register()
  local on = require('acp.base.autocmds').group('acp.permission')
  on({ 'WinClosed', 'TabEnter', 'VimResized' }, on_window)
  on('WinEnter', vim.schedule_wrap(ask_for_more))
  local moves = { 'WinEnter', 'WinLeave', 'WinScrolled', 'CursorMoved', 'CursorMovedI' }
  vim.list_extend(moves, { 'InsertEnter', 'InsertLeave' })
  on(moves, vim.schedule_wrap(adjust_size))
  on('User', vim.schedule_wrap(adjust_size), { pattern = 'AcpReview' })
  require('acp.ui.highlights').define()
end

---@return table<integer|string, integer> order of each known card of session n
---@return table<integer|string, string|nil> its title
local function order_and_titles(n)
  local order, titles = {}, {}
  for _, card in ipairs(cards) do
    if card.session == n then
      order[card.id], titles[card.id] = card.order, card.title
    end
  end
  return order, titles
end

--- Sort the cards. Return whether the order may have changed.
local function sort()
  local current = require('acp.base.valid_names').session_number()
  require('acp.features.permissions.sort_cards')(cards, current)
  local changed = current ~= sorted_for
  sorted_for = current
  return changed
end

--- Return the ids of the cards that are visible in the float.
---@return table<integer|string, true>
local function in_view()
  local found = {}
  local here = is_visible() and vim.api.nvim_win_get_tabpage(win) or nil
  local hidden = here ~= vim.api.nvim_get_current_tabpage() or win_config.hide
  if hidden or require('acp.ui.win').is_covered(win) then return found end
  local first, last = vim.fn.line('w0', win) - 1, vim.fn.line('w$', win) - 1
  for _, row in ipairs(rows) do
    if row.first <= last and row.last >= first then found[row.id] = true end
  end
  return found
end

---@return acp.OnScreen
local function on_screen()
  if sort() then
    legend.update(cards)
    vim.schedule(redraw)
  end
  local elsewhere = require('acp.features.permissions.in_view')
  local ids = vim.tbl_extend('force', elsewhere.ids(), in_view())
  local found = { pending = {}, ids = {}, cursor = M.here() }
  for _, card in ipairs(cards) do
    found.pending[card.id], found.ids[card.id] = true, ids[card.id]
  end
  found.oldest = elsewhere.subject() or (cards[1] or {}).id
  found.bufnr = vim.api.nvim_get_current_buf()
  found.tick = vim.api.nvim_buf_get_changedtick(found.bufnr)
  return found
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
  if #cards > 0 then
    answer_rule.watch(on_screen, force, adjust_size)
  else
    answer_rule.stop()
  end
end

--- Return the number of new questions. A new card may belong to a question that had none and has
--- been announced.
---@param list acp.Card[]
---@param order table<integer|string, integer> the cards before
---@param increase integer increase of the questions without a card
local function count_new(list, order, increase)
  local fresh = 0
  for _, card in ipairs(list) do
    fresh = fresh + (order[card.id] and 0 or 1)
  end
  return math.max(fresh + increase, 0)
end

--- Set the pending questions of session `n`, oldest first.
---@param list acp.Card[] cards from the host: `id`, `lines`, `spans`, `options`
---@param more? integer number of questions without a card
function M.set(n, list, more)
  if arrivals == 0 then register() end
  local order, titles = order_and_titles(n)
  local arrived = count_new(list, order, (more or 0) - (waiting[n] or 0))
  waiting[n] = more ~= 0 and more or nil
  if #list == 0 and not next(order) then return end
  is_dismissed = is_dismissed and arrived == 0
  is_forced = is_forced and arrived == 0 and #list > 0
  cards = vim.tbl_filter(function(card) return card.session ~= n end, cards)
  for _, sent in ipairs(list) do
    local is_new = not order[sent.id]
    if is_new then arrivals = arrivals + 1 end
    local own = { session = n, order = order[sent.id] or arrivals }
    local card = vim.tbl_extend('force', sent, own)
    cards[#cards + 1] = card
    if is_new and arrived > 0 then
      if not unannounced then vim.schedule(announce) end
      unannounced = {
        card = unannounced and unannounced.card or card,
        count = (unannounced and unannounced.count or 0) + arrived,
      }
      arrived = 0
    end
    if titles[card.id] ~= card.title then answer_rule.renew(card.id) end
  end
  sort()
  legend.update(cards)
  watch()
  redraw()
  ask_for_more()
  vim.schedule(adjust_size)
end

--- Set the number of questions without a card of session `n`.
---@param more integer
function M.set_more(n, more)
  local shown = count_without_card() > 0
  waiting[n] = more ~= 0 and more or nil
  if not is_visible() or shown ~= (count_without_card() > 0) then
    redraw()
    return
  end
  if shown then
    local last = vim.api.nvim_buf_line_count(buffer()) - 1
    scratch.replace(buffer(), last, last + 1, { more_line() })
  end
  adjust_size()
end

--- Remove all questions, because the host has ended.
function M.clear()
  cards, waiting = {}, {}
  if arrivals == 0 then return end
  legend.update(cards)
  watch()
  redraw()
end

--- Go to the float. Return false if no question is pending.
---@return boolean
function M.enter()
  if #cards == 0 then return false end
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
  if M.is_current() then return (row_at_cursor() or {}).id end
  return signals.emit('question_at_cursor')
end

return M
