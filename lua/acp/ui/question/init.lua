--- The float of pending decisions, oldest first, those that no agent waits for last: top right, in
--- whatever tab page is current, with or without a chat window. It is hidden where a window shows
--- all of them, and where it would cover a chat or what the user reads: one line says then what is
--- asked. It never takes the focus; `:Acp permissions` or <C-w>w goes there.
local M = {}

local text_width = require('acp.base.text_width')
local ns = vim.api.nvim_create_namespace('acp.permission')
local legend = require('acp.ui.question.legend')
local scratch, wrap = require('acp.ui.scratch'), require('acp.ui.wrap')
local seen, untitled = require('acp.ui.question.seen'), require('acp.ui.question.untitled')

local WIDTH, HEIGHT, HIGHEST = 72, 0.5, 0.8
local LEAST = 3 -- rows of a card that is cut: its beginning, a gap and its end
local ABOVE_ALL = 250 -- zindex

---@class acp.Card
---@field id integer|string
---@field subject? string 'permission', 'access', 'command', 'elicitation' or 'consent'
---@field title? string its first line, as far as that is the title; empty where that has several
---@field lines string[]
---@field spans acp.Span[]
---@field head? integer lines above its options
---@field more? boolean whether it tells more than edits
---@field diffs? boolean whether it asks for edits
---@field options acp.PermissionOption[]
---@field session integer
---@field order integer arrival

---@class acp.CardRow
---@field first integer 0-based
---@field last integer 0-based, inclusive
---@field id integer|string

local cards = {} ---@type acp.Card[] in the order of the float
local rows = {} ---@type acp.CardRow[]
local waiting = {} ---@type table<integer, integer> by session: how many wait behind its cards
local arrivals = 0
local bufnr ---@type integer|nil
local win ---@type integer|nil
local dismissed = false
local left ---@type integer|nil tab page in which it has just been closed
local forced = false -- the user has asked to see the cards, whatever they cover
local sorted_for ---@type integer|nil the session whose cards come first
-- What the cards would take; which row says what the first one asks.
---@type table<string, integer>
local extent = { width = 1, rows = 1, title = 1, first = 1, widest = 1 }
local placed ---@type vim.api.keyset.win_config|nil
local news ---@type { card: acp.Card, count: integer }|nil came since the user was told
local fitted = {} ---@type { rows?: integer, width?: integer, inside?: boolean } what it was cut for

local function visible() return win ~= nil and vim.api.nvim_win_is_valid(win) end

--- Whether the cursor is in the float.
function M.is_current() return visible() and vim.api.nvim_get_current_win() == win end

---@return acp.CardRow|nil
local function row_at_cursor()
  local at = vim.api.nvim_win_get_cursor(win --[[@as integer]])[1] - 1
  for _, row in ipairs(rows) do
    if at <= row.last then return row end
  end
  return rows[#rows]
end

--- Options of a card, nil when there is none with this id.
---@param id integer|string
---@return acp.PermissionOption[]|nil
function M.options(id)
  local card = vim.iter(cards):find(function(one) return one.id == id end)
  return card and card.options
end

local function sessions()
  local found = {}
  for _, card in ipairs(cards) do
    found[card.session] = true
  end
  return vim.tbl_count(found)
end

--- How many wait behind those that have cards.
local function behind()
  local count = 0
  for _, more in pairs(waiting) do
    count = count + more
  end
  return count
end

--- The question whose title is that of the float: a single one whose title fits there.
---@return acp.Card|nil
local function titled()
  local card = #cards == 1 and behind() == 0 and cards[1] or nil
  local width = card and text_width(card.title or '') or 0
  return width > 0 and width + 2 <= math.min(WIDTH, extent.widest) and card or nil
end

--- The cards as the float has them.
---@return acp.Card[]
local function in_float() return titled() and { untitled(cards[1]) } or cards end

--- The line below the last card.
local function rest() return ('… and %d more'):format(behind()) end

--- All cards under one another, a blank line between; with several sessions each says whose it
--- is. None takes more than `limit` screen rows: what is longer loses its middle.
---@return string[] lines
---@return acp.Span[] spans
local function page(limit)
  local lines, spans = {}, {}
  local several = sessions() > 1
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
        and require('acp.ui.question.fitted').card(
          card,
          placed.width,
          several and limit - 1 or limit,
          M.is_current()
        )
      or card
    for _, span in ipairs(shown.spans or {}) do
      spans[#spans + 1] = { span[1] + #lines, span[2], span[3], span[4] }
    end
    vim.list_extend(lines, shown.lines)
    rows[#rows + 1] = { first = first, last = #lines - 1, id = card.id }
  end
  if behind() > 0 then
    vim.list_extend(lines, { '', rest() })
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

local function title()
  local card = titled()
  if card then return (' %s '):format(card.title) end
  local count = #cards + behind()
  return count == 1 and ' question ' or (' %d questions '):format(count)
end

--- The keys or commands that apply, and the number of hidden lines.
---@param more integer rows
---@param room integer cells
local function footer(more, room)
  return M.is_current() and legend.inside(cards, room) or legend.outside(cards, more, room)
end

--- Half the screen at most, more if that shows all that the first one would do; all of it while the
--- user reads there.
---@return integer rows
local function most()
  if M.is_current() then return math.max(vim.o.lines, 3) end
  local first = extent.first <= math.floor(vim.o.lines * HIGHEST) and extent.first or 0
  return math.max(math.floor(vim.o.lines * HEIGHT), first, 3)
end

--- The columns that the float may take where it stands now.
local function widest()
  return require('acp.ui.question.float_corner').widest(visible() and win or nil)
end

--- Note how much the lines would take, as wide as the widest of them and what stands below them.
local function measure(lines)
  local function widen(width)
    extent.width = math.max(math.min(width, WIDTH, extent.widest), 1)
    extent.rows = wrap.least(lines, extent.width)
    local first = in_float()[1]
    local asks = (first.head or 0) + #(first.options or {}) + rows[1].first + extent.title - 1
    extent.first = wrap.least(vim.list_slice(lines, 1, asks), extent.width)
  end
  local room = math.min(WIDTH, extent.widest)
  local width = text_width(footer(0, room))
  extent.title = sessions() > 1 and 2 or 1
  width = math.max(width, text_width(legend.inside(cards, room)))
  width = math.max(width, text_width(title()))
  for _, line in ipairs(lines) do
    width = math.max(width, text_width(line))
  end
  widen(width)
  if extent.rows > most() then widen(math.max(width, text_width(footer(extent.rows, room)))) end
end

---@return vim.api.keyset.win_config
local function placement()
  local inside = M.is_current()
  local elsewhere = not inside and require('acp.ui.question.in_view').where(cards) or nil
  local height = math.min(extent.rows, most(), not inside and extent.cut or math.huge)
  local here = visible() and win or nil
  local config, nowhere = require('acp.ui.question.float_corner').place(extent.width, height, here)
  config.border = require('acp.ui.win').border()
  config.title = title()
  config.footer = footer(extent.rows - config.height, config.width)
  config.footer_pos = 'right'
  config.zindex = forced and ABOVE_ALL or 45
  config.hide = not inside and not forced and (elsewhere ~= nil or nowhere)
  return config
end

local function close()
  local old = win
  win = nil
  require('acp.ui.window').close(old)
  require('acp.ui.question.float_corner').forget()
end

local function open()
  placed = placement()
  local config = vim.tbl_extend('force', placed, {})
  config.style = 'minimal'
  config.focusable = true
  win = vim.api.nvim_open_win(buffer(), false, config)
  require('acp.ui.window').adopt(win, {
    wrap = true,
    winhighlight = 'NormalFloat:AcpPermissionNormal,FloatBorder:AcpPermissionBorder',
  })
end

--- Where the cursor stood goes on standing: the same card, the same line of it.
---@param before acp.CardRow|nil
local function keep_place(before, offset)
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

--- Fill the float; what does not fit loses its middle. Lines break at words, so that they may take
--- more rows than they have to: then it is cut further.
---@param limit? integer rows of a card
local function fill(limit)
  local lines, spans = page(limit)
  scratch.fill(buffer(), lines, spans, ns)
  for _ = 1, limit and 4 or 0 do
    local last = math.min(rows[1].last, vim.api.nvim_buf_line_count(buffer()) - 1)
    local taken = wrap.there(win --[[@as integer]], last)
    if taken <= placed.height or limit <= LEAST then return end
    limit = math.max(limit - (taken - placed.height), LEAST)
    lines, spans = page(limit)
    scratch.fill(buffer(), lines, spans, ns)
  end
end

--- Where the cursor is in the float: on which card, and how far down.
---@return acp.CardRow|nil
---@return integer offset
local function cursor_in_card()
  local before = M.is_current() and row_at_cursor() or nil
  local cursor = before and vim.api.nvim_win_get_cursor(win --[[@as integer]])[1] - 1 or 0
  return before, before and cursor - before.first or 0
end

--- Out of the way of the user, if it is.
local function place()
  if not visible() then return end
  local config = placement()
  if not vim.deep_equal(config, placed) then
    placed = config
    vim.api.nvim_win_set_config(win --[[@as integer]], config)
  end
end

--- A card that is cut may leave rows free: none is blank.
local function shrink()
  local taken = wrap.there(win --[[@as integer]])
  if #rows > 1 or M.is_current() or taken >= placed.height then return end
  extent.cut = taken
  place()
  fitted.rows = placed.height
end

--- Cut the cards for the room that the float has now, unless they are.
local function fit()
  if not visible() or placed.hide then return end
  local inside = M.is_current()
  local limit = placed.height < extent.rows and placed.height or nil
  local now = { rows = limit, width = limit and placed.width, inside = limit and inside or nil }
  if not vim.deep_equal(now, fitted) then
    local before, offset = cursor_in_card()
    fitted = now
    fill(limit)
    if limit then shrink() end
    keep_place(before, offset)
  end
end

local function draw()
  if #cards == 0 then
    close()
    dismissed = false
    return
  end
  if dismissed then return end
  local before, offset = cursor_in_card()
  extent.widest, extent.cut = widest(), nil
  local lines, spans = page()
  scratch.fill(buffer(), lines, spans, ns)
  fitted = {}
  measure(lines)
  if visible() then
    place()
  else
    open()
  end
  -- As wide as it is now the text may take more rows than it would at least.
  local taken = placed.width == extent.width and wrap.there(win) or extent.rows
  if taken ~= extent.rows then
    extent.rows = taken
    place()
  end
  fit()
  keep_place(before, offset)
end

--- Show the float as it is now: while a command line is typed Neovim draws nothing by itself.
local function paint()
  if vim.api.nvim_get_mode().mode == 'c' then vim.cmd.redraw() end
end

--- Draw now, or as soon as Neovim allows windows.
local function redraw()
  require('acp.ui.window').when_free(function()
    draw()
    paint()
  end)
end

--- Say what is asked, unless it is over.
local function announce()
  local now = news
  news = nil
  if not now or not vim.iter(cards):any(function(card) return card.id == now.card.id end) then
    return
  end
  local shown = visible() and not placed.hide
  require('acp.ui.question.announcement')(now.card, now.count, shown)
end

--- The keys below a card in a chat are those that work where the cursor is.
local function follow_cursor()
  local target = not M.is_current() and package.loaded['acp.ui.chat.cursor_target']
  if legend.enter(target and target.decision() or nil) then
    require('acp.ui.chat.marks').redraw()
  end
end

--- Who looks at the cards gets those of all questions that are listed.
local function ask_for_more()
  local host = require('acp.base.host')
  if M.is_current() and behind() > 0 and host.running() then
    host.notify('cards', vim.empty_dict())
  end
end

local function dodge()
  if #cards == 0 then return end
  follow_cursor()
  local stale = visible() and extent.widest ~= widest()
  if stale or not visible() and not dismissed then return redraw() end
  place()
  fit()
  paint()
end

--- The user has closed it, :only included: it comes back with the next decision. Who closes the tab
--- page that it stands in has not meant it: another one is entered then, by the same command.
local function dismiss()
  left = vim.api.nvim_get_current_tabpage()
  win, dismissed = nil, true
  vim.schedule(function() left = nil end)
end

---@param args { event: string, match: string }
local function on_window(args)
  if args.event == 'WinClosed' then
    if win and tonumber(args.match) == win then dismiss() end
  elseif args.event == 'TabEnter' and not M.is_current() then
    dismissed = dismissed and not (left and not vim.api.nvim_tabpage_is_valid(left))
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
  on(moves, vim.schedule_wrap(dodge))
  on('User', vim.schedule_wrap(dodge), { pattern = 'AcpReview' })
  require('acp.ui.highlights').define()
end

---@return table<integer|string, integer> order of each known card of session n
---@return table<integer|string, string|nil> its title
local function known(n)
  local order, titles = {}, {}
  for _, card in ipairs(cards) do
    if card.session == n then
      order[card.id], titles[card.id] = card.order, card.title
    end
  end
  return order, titles
end

local RANKS = { elicitation = 2, consent = 3 } -- of subjects; permissions come first

--- Sort the cards as a bare `:Acp allow` takes them: permissions first, consents last, and of each
--- those of the current session first. Return whether the order may have changed.
local function sort()
  local current = require('acp.base.valid_names').session_number()
  local function rank(card)
    return { RANKS[card.subject] or 1, card.session == current and 0 or 1, card.order }
  end
  table.sort(cards, function(a, b)
    local one, other = rank(a), rank(b)
    for i = 1, #one do
      if one[i] ~= other[i] then return one[i] < other[i] end
    end
    return false
  end)
  local changed = current ~= sorted_for
  sorted_for = current
  return changed
end

--- Ids of the cards that the float shows.
---@return table<integer|string, true>
local function in_view()
  local found = {}
  local here = visible() and vim.api.nvim_win_get_tabpage(win) or nil
  local hidden = here ~= vim.api.nvim_get_current_tabpage() or placed.hide
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
  local elsewhere = require('acp.ui.question.in_view')
  local ids, cursor = vim.tbl_extend('force', elsewhere.ids(), in_view()), M.here()
  local found = { pending = {}, ids = {}, cursor = cursor }
  for _, card in ipairs(cards) do
    found.pending[card.id] = true
    if ids[card.id] or card.id == cursor then found.ids[card.id] = true end
  end
  found.oldest = elsewhere.subject() or (cards[1] or {}).id
  found.bufnr = vim.api.nvim_get_current_buf()
  found.tick = vim.api.nvim_buf_get_changedtick(found.bufnr)
  return found
end

--- Show the float, whatever it covers, until another question comes. It is opened anew: it may be
--- in another tab page, and Neovim 0.10 raises no window.
local function force()
  dismissed, forced = false, true
  if not M.is_current() then close() end
  redraw()
end

local function watch()
  if #cards > 0 then
    seen.watch(on_screen, force)
  else
    seen.rest()
  end
end

--- How many questions have come: a card that is new may be that of one that waited behind, of
--- which the user has been told.
---@param list acp.Card[]
---@param order table<integer|string, integer> the cards that were there
---@param grown integer by how many more wait behind
local function came_to(list, order, grown)
  local fresh = 0
  for _, card in ipairs(list) do
    fresh = fresh + (order[card.id] and 0 or 1)
  end
  return math.max(fresh + grown, 0)
end

--- Pending decisions of session `n`, oldest first; an empty list takes them away.
---@param list acp.Card[] as the host sends them: `id`, `lines`, `spans`, `options`
---@param more? integer how many wait behind these
function M.set(n, list, more)
  if arrivals == 0 then register() end
  local order, titles = known(n)
  local came = came_to(list, order, (more or 0) - (waiting[n] or 0))
  waiting[n] = more ~= 0 and more or nil
  if #list == 0 and not next(order) then return end
  dismissed = dismissed and came == 0
  forced = forced and came == 0 and #list > 0
  cards = vim.tbl_filter(function(card) return card.session ~= n end, cards)
  for _, card in ipairs(list) do
    if not order[card.id] then
      arrivals = arrivals + 1
      if came > 0 then
        if not news then vim.schedule(announce) end
        news = { card = news and news.card or card, count = (news and news.count or 0) + came }
        came = 0
      end
    end
    if titles[card.id] ~= card.title then seen.renew(card.id) end
    local own = { session = n, order = order[card.id] or arrivals }
    cards[#cards + 1] = vim.tbl_extend('force', card, own)
  end
  sort()
  legend.update(cards)
  watch()
  redraw()
  ask_for_more()
  vim.schedule(dodge)
end

--- Only how many wait behind the cards of session `n` has changed.
---@param more integer
function M.set_more(n, more)
  local shown = behind() > 0
  waiting[n] = more ~= 0 and more or nil
  if not visible() or shown ~= (behind() > 0) then
    redraw()
    return
  end
  if shown then
    local last = vim.api.nvim_buf_line_count(buffer()) - 1
    scratch.replace(buffer(), last, last + 1, { rest() })
  end
  dodge()
end

--- Take all decisions away: the host is gone, and with it who asked.
function M.clear()
  cards, waiting = {}, {}
  if arrivals > 0 then
    watch()
    redraw()
  end
end

--- Go to the float. False when nothing is pending.
---@return boolean
function M.enter()
  if #cards == 0 then return false end
  dismissed = false
  require('acp.ui.window').when_free(function()
    draw()
    vim.api.nvim_set_current_win(win --[[@as integer]])
    dodge()
  end)
  return true
end

--- The decision whose card is under the cursor, in the float or in the chat.
---@return integer|string|nil
function M.here()
  if M.is_current() then return (row_at_cursor() or {}).id end
  return require('acp.ui.chat.cursor_target').decision()
end

return M
