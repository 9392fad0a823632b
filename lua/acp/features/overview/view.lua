--- Buffer and windows of the overview, `acp://overview`. While no window of this tab page shows it,
--- nothing is computed, and no timer runs.
local M = {}

local api = vim.api
local emit = require('acp.base.signals').emit
local scratch, win_of = require('acp.ui.scratch'), require('acp.ui.win')
local text_width = require('acp.base.text.width')
local columns = require('acp.features.overview.columns')
local others = require('acp.features.overview.others')

local NAME = 'acp://overview'
local ns = api.nvim_create_namespace('acp.overview')
local MIN_ROWS, SHARE = 10, 0.5 -- height of a new window: rows, and share of the screen
local MARGIN_MS = 5 -- a timer may fire early

---@type acp.OverviewPage
local EMPTY = { lines = { '' }, spans = { {} }, blocks = {}, cards = {}, options = {} }

local page = EMPTY
local drawn = {} ---@type acp.OverviewSession[] sessions of the page
local folded = {} ---@type table<string, true>
local is_forced = false -- whether to draw even if no session has changed
local timer ---@type uv.uv_timer_t|nil
local is_awake = false -- whether changes are watched, because a window shows the overview

---@return integer|nil
local function buffer()
  local bufnr = scratch.find(NAME)
  return bufnr and api.nvim_buf_is_loaded(bufnr) and bufnr or nil
end

--- Return the windows of this tab page that show the overview.
---@return integer[]
local function windows()
  local bufnr, tab = buffer(), api.nvim_get_current_tabpage()
  return vim.tbl_filter(
    function(win) return api.nvim_win_get_tabpage(win) == tab end,
    bufnr and vim.fn.win_findbuf(bufnr) or {}
  )
end

local wake ---@type fun()

--- Stop watching for changes, because no window of this tab page shows the overview. Windows of
--- other tab pages are drawn when the user goes there.
local function stop_watching()
  is_awake = false
  if timer then timer:stop() end
  others.stop()
  local on = require('acp.base.autocmds').group('acp.overview')
  local bufnr = buffer()
  if bufnr and #vim.fn.win_findbuf(bufnr) > 0 then on('TabEnter', function() wake() end) end
end

-- Text.

--- Keys in the winbar: window, action and word of each, and its rank. If there is little room,
--- those of the highest rank are left out.
local KEYS = {
  { 'overview', 'open', 'open', 1 },
  { 'permission', 'allow_once', 'allow', 3 },
  { 'permission', 'reject_once', 'deny', 4 },
  { 'permission', 'review', 'diff', 8 },
  { 'overview', 'send', 'send', 5 },
  { 'overview', 'cancel', 'cancel', 6 },
  { 'overview', 'close_session', 'close', 7 },
  { 'overview', 'help', 'keys', 2 },
}
local TITLE = 'Sessions'

--- Return whether a question of this Neovim can be answered here.
local function asks()
  return vim.iter(drawn):any(function(session) return session.question ~= nil end)
end

--- Return the words for the keys up to a rank. Keys of questions are left out if there is none.
---@param most integer
local function keys_up_to(most)
  local parts, has_question = {}, asks()
  for _, key in ipairs(KEYS) do
    local wanted = key[4] <= most and (key[1] ~= 'permission' or has_question)
    local part = wanted and require('acp.ui.keymaps').words(key[1], { [key[2]] = key[3] }) or ''
    parts[#parts + 1] = part ~= '' and part or nil
  end
  return table.concat(parts, ' · ')
end

---@param width integer cells
---@return string
local function winbar(width)
  local most = #KEYS
  while most > 0 and text_width(keys_up_to(most)) > width - #TITLE - 4 do
    most = most - 1
  end
  return (' %%#AcpTitle#%s%%*  %%=%s '):format(TITLE, win_of.literal(keys_up_to(most)))
end

--- Show as many keys in the winbar of a window as fit.
local function set_winbar(win)
  local bar = winbar(api.nvim_win_get_width(win))
  if vim.wo[win].winbar ~= bar then win_of.set(win, 'winbar', bar) end
end

---@return table<string, any> options of the windows
local function options() return { cursorline = true, winbar = winbar(vim.o.columns) } end

--- Return the block in which a row is.
---@param row integer 0-based
---@return acp.OverviewBlock|nil
local function block_at(row)
  return vim
    .iter(page.blocks)
    :find(function(block) return block.first <= row and row <= block.last end)
end

---@class acp.OverviewPlace
---@field key string|nil of the session
---@field row integer row within the block, or in the buffer if there is none

---@return acp.OverviewPlace
local function place_of(win)
  local row = api.nvim_win_get_cursor(win)[1] - 1
  local block = block_at(row)
  return { key = block and block.key, row = block and row - block.first or row }
end

--- Put the cursor of a window back on its session.
---@param place acp.OverviewPlace
local function restore(win, place)
  local at = api.nvim_win_get_cursor(win)
  local row = at[1] - 1
  for _, block in ipairs(place.key and page.blocks or {}) do
    if block.key == place.key then row = math.min(block.first + place.row, block.last) end
  end
  row = math.min(row, #page.lines - 1)
  if row ~= at[1] - 1 then api.nvim_win_set_cursor(win, { row + 1, at[2] }) end
end

--- Move the cursor to the current session.
local function to_current(win)
  local current = require('acp.base.state').current()
  for _, block in ipairs(page.blocks) do
    if not block.session.pid and block.session.n == current then
      api.nvim_win_set_cursor(win, { block.first + 1, 0 })
    end
  end
end

--- Scroll a window down to the last line if there are blank rows below it.
local function scroll_to_end(win)
  api.nvim_win_call(win, function()
    if vim.fn.line('w$') < vim.fn.line('$') or vim.fn.line('w0') == 1 then return end
    local at = vim.fn.getcurpos()
    vim.cmd('keepjumps normal! Gzb')
    vim.fn.setpos('.', at)
  end)
end

--- Paint the rows [first, last) of the page.
local function paint(bufnr, first, last)
  api.nvim_buf_clear_namespace(bufnr, ns, first, last)
  for row = first, last - 1 do
    for _, span in ipairs(page.spans[row + 1]) do
      api.nvim_buf_set_extmark(bufnr, ns, row, span[1], {
        end_col = span[2],
        hl_group = span[3],
        strict = false,
      })
    end
  end
end

--- Return whether a line of two pages is the same.
---@param new acp.OverviewPage
local function is_same(old, i, new, j)
  return old.lines[i] == new.lines[j] and vim.deep_equal(old.spans[i], new.spans[j])
end

--- Return the rows that differ: [first, last of the old page) and [first, last of the new page).
---@param old acp.OverviewPage
---@param new acp.OverviewPage
---@return integer first
---@return integer old_last
---@return integer new_last
local function difference(old, new)
  local first, old_last, new_last = 0, #old.lines, #new.lines
  while first < math.min(old_last, new_last) and is_same(old, first + 1, new, first + 1) do
    first = first + 1
  end
  while old_last > first and new_last > first and is_same(old, old_last, new, new_last) do
    old_last, new_last = old_last - 1, new_last - 1
  end
  return first, old_last, new_last
end

--- Write the lines that differ from the old page. If both pages have the same number of lines, as
--- with each tick of the durations, lines that are equal are not written.
---@param old acp.OverviewPage
local function write(bufnr, old)
  vim.bo[bufnr].modifiable = true
  local first, old_last, new_last = difference(old, page)
  if old_last ~= new_last then
    api.nvim_buf_clear_namespace(bufnr, ns, first, old_last)
    local lines = vim.list_slice(page.lines, first + 1, new_last)
    api.nvim_buf_set_lines(bufnr, first, old_last, false, lines)
    paint(bufnr, first, new_last)
  else
    for row = first, new_last - 1 do
      if not is_same(old, row + 1, page, row + 1) then
        api.nvim_buf_set_lines(bufnr, row, row + 1, false, { page.lines[row + 1] })
        paint(bufnr, row, row + 1)
      end
    end
  end
  vim.bo[bufnr].modifiable = false
end

---@param wins integer[]
---@return acp.OverviewLayout
local function layout(wins)
  local width, rows = math.huge, math.huge
  for _, win in ipairs(wins) do
    width = math.min(width, win_of.text_columns(win))
    rows = math.min(rows, vim.fn.getwininfo(win)[1].height)
  end
  if #wins == 0 then
    width, rows = vim.o.columns, math.floor(vim.o.lines * SHARE)
  end
  return { width = width, rows = rows, folded = folded, now = os.time() }
end

--- Draw again when a duration changes.
local function tick()
  local wait, now = math.huge, os.time()
  for _, session in ipairs(drawn) do
    wait = math.min(wait, columns.next_change(now - session.since, session.is_timed))
  end
  timer = timer or vim.uv.new_timer()
  if not timer then return end
  timer:stop()
  if wait == math.huge then return end
  local past_second = math.floor(select(2, vim.uv.gettimeofday()) / 1000)
  timer:start(wait * 1000 - past_second + MARGIN_MS, 0, function() M.schedule_draw(true) end)
end

--- Return whether two lists have the same tables.
local function are_same(some, other)
  for i = 1, math.max(#some, #other) do
    if some[i] ~= other[i] then return false end
  end
  return true
end

local function draw()
  local bufnr, wins = buffer(), windows()
  if not bufnr or #wins == 0 then return stop_watching() end
  local sessions = require('acp.features.overview.sessions').all()
  if not is_forced and are_same(sessions, drawn) then return end
  is_forced = false
  local places, old = {}, page
  for _, win in ipairs(vim.fn.win_findbuf(bufnr)) do
    places[win] = place_of(win)
  end
  page, drawn = require('acp.features.overview.page').build(sessions, layout(wins)), sessions
  write(bufnr, old)
  for win, place in pairs(places) do
    restore(win, place)
    if #old.blocks == 0 then to_current(win) end
    if #page.lines < #old.lines then scroll_to_end(win) end
  end
  vim.iter(wins):each(set_winbar)
  if not vim.deep_equal(old.cards, page.cards) then emit('questions_drawn') end
  tick()
end

local draw_soon = require('acp.base.schedule_once')(draw)

--- Draw after the current event, if a session has changed.
---@param force? boolean draw even if none has
function M.schedule_draw(force)
  is_forced = is_forced or force or false
  draw_soon()
end

--- Read the files of the other Neovims and the branches again, and draw the overview.
function M.refresh()
  others.read()
  require('acp.features.overview.checkouts').forget()
  M.schedule_draw(true)
end

-- Buffer and windows.

--- Start watching for changes and draw everything, because the overview has become visible.
wake = function()
  if #windows() == 0 then return stop_watching() end
  if not is_awake then
    is_awake = true
    local on = require('acp.base.autocmds').group('acp.overview')
    on('User', function() M.schedule_draw() end, { pattern = 'AcpState' })
    on({ 'WinResized', 'VimResized' }, function() M.schedule_draw(true) end)
    on('FocusGained', M.refresh)
    on({ 'WinClosed', 'BufWinLeave', 'TabEnter' }, function() M.schedule_draw() end)
    others.watch(M.refresh)
  end
  M.refresh()
end

--- Forget the text of a buffer that was unloaded.
local function forget()
  page, drawn = EMPTY, {}
  stop_watching()
end

--- Return whether the keys of a permission act at the cursor. For a question of another Neovim,
--- they show that it must be answered there.
local function is_on_question()
  local block = M.at_cursor()
  local session = block and block.session
  if not session or not session.pid or session.questions == 0 then
    return session and session.question
  end
  vim.schedule(
    function() require('acp.base.notify').show('info', 'session_elsewhere', session.pid) end
  )
  return true
end

---@return integer bufnr
local function ensure()
  require('acp.ui.highlights').define()
  local bufnr, created = scratch.ensure(NAME, 'acpoverview')
  if created then
    page, drawn = EMPTY, {}
    require('acp.ui.keymaps').attach('overview', bufnr, nil, is_on_question)
    local in_buffer = require('acp.base.autocmds').in_buffer
    in_buffer(bufnr, 'BufWinEnter', vim.schedule_wrap(wake))
    in_buffer(bufnr, 'CursorMoved', M.reveal)
    in_buffer(bufnr, { 'BufUnload', 'BufWipeout' }, forget)
    scratch.on_read(bufnr, function()
      page, drawn = EMPTY, {}
      M.schedule_draw(true)
    end)
  end
  return bufnr
end

---@param smods { tab?: integer, vertical?: boolean, split?: string } modifiers of the command
local function show(bufnr, smods)
  if (smods.tab or -1) >= 0 then
    vim.cmd.sbuffer({ args = { bufnr }, mods = { tab = smods.tab } })
    local win = api.nvim_get_current_win()
    require('acp.ui.window').adopt(win, options())
    require('acp.ui.window.titles').set_title(win)
    return win
  end
  local is_before = smods.split == 'topleft' or smods.split == 'aboveleft'
  local height =
    math.min(math.max(#page.lines + 1, MIN_ROWS), math.max(math.floor(vim.o.lines * SHARE), 3))
  return require('acp.ui.window').open_beside(bufnr, {
    layout = smods.vertical and (is_before and 'left' or 'right')
      or is_before and 'top'
      or 'bottom',
    size = smods.vertical and SHARE or height,
    enter = true,
    options = options(),
  })
end

--- Show the overview and go there.
---@param smods { tab?: integer, vertical?: boolean, split?: string } modifiers of the command
function M.open(smods)
  local window, bufnr = require('acp.ui.window'), ensure()
  local win = window.showing(bufnr)
  if win then return window.focus(win) end
  others.read()
  require('acp.features.overview.checkouts').forget()
  local sessions = require('acp.features.overview.sessions').all()
  local old = page
  page, drawn = require('acp.features.overview.page').build(sessions, layout({})), sessions
  write(bufnr, old)
  win = show(bufnr, smods)
  if win then to_current(win) end
  wake()
end

-- Questions and sessions at the cursor.

--- Return the block under the cursor, nil in another buffer.
---@return acp.OverviewBlock|nil
function M.at_cursor()
  if api.nvim_get_current_buf() ~= buffer() then return nil end
  return block_at(api.nvim_win_get_cursor(0)[1] - 1)
end

--- Scroll until the whole question of the session under the cursor is visible.
function M.reveal()
  local block = M.at_cursor()
  if block then win_of.reveal(block.first + 1, block.last + 1) end
end

--- Return the question of the session under the cursor.
---@return integer|string|nil
function M.question_at_cursor()
  local block = M.at_cursor()
  return block and block.session.question
end

--- Return the number of the option under the cursor.
---@return integer|nil
function M.option_at_cursor()
  return M.at_cursor() and page.options[api.nvim_win_get_cursor(0)[1] - 1]
end

--- Return the questions whose whole cards are in these rows of the current window, and in no
--- closed fold of the user. Return nil for another buffer.
---@param bufnr integer
---@param first integer 0-based
---@param last integer
---@return table<integer|string, { [1]: integer, [2]: integer }>|nil by id: first and last line
function M.questions_in_rows(bufnr, first, last)
  if bufnr ~= buffer() then return nil end
  local questions = {}
  for id, rows in pairs(page.cards) do
    local is_whole = first <= rows[1] and rows[2] <= last
    for row = rows[1], is_whole and rows[2] or -1 do
      is_whole = is_whole and vim.fn.foldclosed(row + 1) < 0
    end
    if is_whole then questions[id] = { rows[1] + 1, rows[2] + 1 } end
  end
  return questions
end

--- Hide the question of a session, or show it again.
---@param key string of the session
function M.fold(key)
  folded[key] = not folded[key] or nil
  M.schedule_draw(true)
end

--- Go to the next (1) or previous (-1) session.
---@param direction 1|-1
function M.go(direction)
  local row = api.nvim_win_get_cursor(0)[1] - 1
  local further = vim
    .iter(page.blocks)
    :filter(function(block) return (block.first - row) * direction > 0 end)
  local block = direction > 0 and further:next() or direction < 0 and further:last()
  if block then api.nvim_win_set_cursor(0, { block.first + 1, 0 }) end
end

return M
