--- The review's tab page: on the left the text as last accepted, on the right the live buffer, both
--- in diff mode, and below them the list of files.
local M = {}

local api = vim.api
local panes = require('acp.features.review.panes')
local sides = require('acp.features.review.sides')

--- Maximum number of rows in the list of files, as a number and as a share of the screen. The
--- larger one applies.
local LIST_ROWS, LIST_SHARE = 6, 0.2

local BAR_MARGIN = 4 -- cells of a winbar that have no title

---@class acp.Review
---@field tab integer
---@field from integer the user's previous tab page
---@field base integer window
---@field live integer window
---@field list? integer window
---@field files acp.ReviewFile[]
---@field at integer index of the file that is shown
---@field left boolean whether any change was neither accepted nor rejected
---@field shown? integer buffer of the live side
---@field source acp.ReviewSource

--- Source of the texts: pending edits, or the proposals of a permission.
---@class acp.ReviewSource
---@field left fun(file: acp.ReviewFile): integer, string
---@field right fun(file: acp.ReviewFile): integer, string
---@field hint fun(file: acp.ReviewFile, count: integer): string, string hints of the left and the
---  right window; `count` is the number of files
---@field decide fun(verb: 'accept'|'reject', file: acp.ReviewFile)
---@field closed fun()
---@field words? table<string, string> descriptions of actions that differ from the default ones
---@field more? fun(paths: string[]) called when further files have pending edits

local review ---@type acp.Review|nil

-- Keys and titles ---------------------------------------------------------------------------------

local keyed ---@type integer|nil live buffer that has the review's keys
local unmarked ---@type integer|nil live buffer whose inline marks are hidden

--- Update keys and marks of the live buffer. It has the review's keys while its window is current.
--- Its inline marks are hidden while the tab page is current, because diff mode shows the changes.
local function sync()
  local state = review
  local here = state and api.nvim_get_current_tabpage() == state.tab and state.shown or nil
  local current = here and api.nvim_get_current_win() == state.live and here or nil
  local keys, inline = require('acp.ui.keymaps'), require('acp.features.review.inline')
  if keyed and keyed ~= current then keys.detach('review', keyed) end
  if current and keyed ~= current then keys.attach_over('review', current) end
  if unmarked and unmarked ~= here then inline.hide(unmarked, false) end
  if here and unmarked ~= here then inline.hide(here, true) end
  keyed, unmarked = current, here
end

--- Write the line above each window. A title that does not fit loses its note, if the list below
--- has it, and then the names of folders.
---@param state acp.Review
local function bars(state, left, right)
  local file = state.files[state.at]
  local path = require('acp.base.paths').label(file.path)
  local number = #state.files > 1 and ('%d/%d '):format(state.at, #state.files) or ''
  local hint_left, hint_right = state.source.hint(file, #state.files)
  panes.set_winbar(state.base, left, hint_left)
  local name = vim.fn.fnamemodify(path, ':t') .. ' · '
  panes.set_title(state.base, name .. left)
  if state.shown and vim.startswith(api.nvim_buf_get_name(state.shown), 'acp://') then
    panes.set_title(state.live, name .. right)
  end
  local hidden = require('acp.features.review.hidden').note(
    api.nvim_win_get_buf(state.base),
    api.nvim_win_get_buf(state.live)
  )
  local room = api.nvim_win_get_width(state.live) - #number - BAR_MARGIN
  local is_listed, title = #state.files > 1, nil
  for _, short in ipairs({ { path }, { path, true }, { vim.fn.pathshorten(path), true } }) do
    local counts = sides.counts(file, short[2] and is_listed)
    local words = counts == 'proposed' and { short[1], right } or { short[1], counts, right }
    words[#words + 1] = hidden
    title = table.concat(words, ' · ')
    if api.nvim_strwidth(title) <= room then break end
  end
  panes.set_winbar(state.live, title, hint_right, number)
end

---@param files acp.ReviewFile[]
---@return integer rows
local function list_height(files)
  return math.min(#files, math.max(LIST_ROWS, math.floor(vim.o.lines * LIST_SHARE)))
end

--- Draw the list of files. With `move`, its cursor goes to the file that is shown.
---@param state acp.Review
local function draw_list(state, move)
  if state.list and api.nvim_win_is_valid(state.list) then
    require('acp.features.review.list').draw(
      api.nvim_win_get_buf(state.list),
      state.files,
      state.at
    )
    if move then api.nvim_win_set_cursor(state.list, { state.at, 0 }) end
  end
end

-- Showing files -----------------------------------------------------------------------------------

--- Move the cursor of the live side to the first change. The other side follows by 'cursorbind'.
---@param state acp.Review
---@param row? integer row to go to instead, 0-based
local function place_cursor(state, row)
  vim.cmd('diffupdate')
  api.nvim_win_call(state.live, function()
    local last = api.nvim_buf_line_count(0)
    api.nvim_win_set_cursor(0, { row and math.min(row + 1, last) or 1, 0 })
    if not row and vim.fn.diff_hlID(1, 1) == 0 and vim.fn.diff_filler(1) == 0 then
      vim.cmd('silent! normal! ]c')
    end
    vim.cmd('silent! normal! zv')
    vim.cmd('syncbind')
  end)
end

--- Show a file of the review.
---@param i integer
---@param row? integer row to go to, 0-based; the first change by default
function M.show(i, row)
  local state = review --[[@as acp.Review]]
  local file = state.files[i]
  state.at = i
  local left, left_title = state.source.left(file)
  local right, right_title = state.source.right(file)
  state.shown = right
  panes.show(state.base, left)
  panes.show(state.live, right)
  file.titles = { left_title, right_title }
  bars(state, left_title, right_title)
  draw_list(state, true)
  place_cursor(state, row)
  if file.kind == 'deleted' then panes.unbind(state.base) end
  sync()
end

--- Return the open review. After the user has closed one of its two windows, return nil: the review
--- ends as soon as Neovim allows it, and must not be used until then.
---@return acp.Review|nil
function M.state()
  local whole = review and api.nvim_win_is_valid(review.base) and api.nvim_win_is_valid(review.live)
  return whole and review or nil
end

--- Update the counts, the titles and the list of files. Show a message once when the user has
--- accepted or rejected everything. Pass further files with pending edits to the source.
local function refresh()
  local state = M.state()
  if not state then return end
  local left = false
  for _, file in ipairs(state.files) do
    sides.refresh(file)
    left = left or sides.is_undecided(file)
  end
  if state.left and not left then
    local how = require('acp.ui.keymaps').words('review', { close = 'closes it' })
    local hint = how ~= '' and (', %s'):format(how) or ''
    require('acp.base.notify').show('info', 'review_done', hint)
  end
  state.left = left
  local others = sides.paths_not_among(state.files)
  if #others > 0 and state.source.more then state.source.more(others) end
  local titles = state.files[state.at].titles
  bars(state, titles[1], titles[2])
  draw_list(state)
end

-- Opening and closing -----------------------------------------------------------------------------

--- Return whether a window has options of diff mode. `:diffoff` leaves those of the review.
---@return boolean
local function is_like_diff(win) return vim.wo[win].diff or vim.wo[win].foldmethod == 'diff' end

--- Turn diff mode off in windows split from the review's, even if moved to another tab page.
---@param state acp.Review
local function plain_others(state)
  for _, win in ipairs(api.nvim_list_wins()) do
    local ours, inside = vim.w[win].acp_review, api.nvim_win_get_tabpage(win) == state.tab
    local diff = is_like_diff(win)
    if not vim.w[win].acp and (inside and (diff or ours) or diff and ours) then
      panes.release(win)
    end
  end
end

--- A split inherits diff mode. CTRL-W T makes a new window in another tab page.
local function mark_split()
  if review and is_like_diff(0) and api.nvim_get_current_buf() == review.shown then
    vim.w.acp_review = true
  end
end

---@param state acp.Review
---@param keep? integer a window to leave to the user
local function close_windows(state, keep)
  for _, win in pairs({ state.list, state.base, state.live }) do
    local valid = win ~= keep and api.nvim_win_is_valid(win)
    local is_alone = #api.nvim_list_tabpages() == 1 and #api.nvim_tabpage_list_wins(0) == 1
    if valid and not (is_alone and win == state.live) then require('acp.ui.window').close(win) end
  end
  plain_others(state)
end

--- End the review. `keep` is a window to leave to the user, who has closed the others.
---@param state acp.Review
local function finish(state, keep)
  if review ~= state then return end
  local is_here = api.nvim_get_current_tabpage() == state.tab
  review = nil
  pcall(api.nvim_del_augroup_by_name, 'acp.features.review.tab')
  close_windows(state, keep)
  if is_here and not keep and api.nvim_tabpage_is_valid(state.from) then
    api.nvim_set_current_tabpage(state.from)
  end
  sync()
  state.source.closed()
  require('acp.features.review.base').wipe()
  sides.wipe()
  require('acp.base.events').fire('AcpReview', { open = false })
end

---@param args { match: string }
local function on_closed(args)
  local state, win = review, tonumber(args.match)
  if not state or (win ~= state.base and win ~= state.live) then return end
  -- `:q` closes the current window and ends the review. `:only` closes the other one, and the
  -- current one becomes an ordinary window.
  local is_quit = api.nvim_get_current_win() == win
  local other = win == state.base and state.live or state.base
  vim.schedule(function()
    local keep = not is_quit and other == state.live and api.nvim_win_is_valid(other) and other
      or nil
    require('acp.ui.window').when_free(function() finish(state, keep) end)
  end)
end

--- End the review and leave the live window to the user if they show another buffer in it.
local function on_buffer()
  local state = review
  if not state or api.nvim_get_current_win() ~= state.live then return end
  if api.nvim_win_get_buf(state.live) == state.shown then return end
  vim.schedule(function()
    if api.nvim_win_is_valid(state.live) then finish(state, state.live) end
  end)
end

---@param state acp.Review
local function open_list(state)
  if #state.files < 2 or state.list then
    return -- a list that the user has closed stays closed
  end
  state.list = api.nvim_open_win(require('acp.features.review.list').buffer(), false, {
    split = 'below',
    win = -1,
    height = list_height(state.files),
  })
  local options = { winfixheight = true, cursorline = true, wrap = false }
  require('acp.ui.window').adopt(state.list, options)
  draw_list(state)
end

local function watch()
  local on = require('acp.base.autocmds').group('acp.features.review.tab')
  on('WinClosed', on_closed)
  on('BufWinEnter', on_buffer)
  on('WinEnter', sync)
  on('WinNew', mark_split)
  on('TabEnter', function()
    local state = M.state()
    if state and api.nvim_get_current_tabpage() == state.tab then open_list(state) end
  end)
  on('User', refresh, { pattern = 'AcpState' })
end

---@param files acp.ReviewFile[]
---@param source acp.ReviewSource
local function open_tab(files, source)
  local from = api.nvim_get_current_tabpage()
  local first = source.left(files[1])
  vim.cmd(('tab sbuffer %d'):format(first))
  local base = api.nvim_get_current_win()
  panes.set_up(base)
  local live = api.nvim_open_win(first, true, { split = 'right', win = base })
  panes.set_up(live)
  review = {
    tab = api.nvim_get_current_tabpage(),
    from = from,
    base = base,
    live = live,
    files = files,
    at = 1,
    left = true,
    source = source,
  }
  watch()
  open_list(review)
  require('acp.base.events').fire('AcpReview', { open = true })
end

--- Return the index of a path among files, or 1 if it is not among them.
---@param files acp.ReviewFile[]
---@param path string|nil
---@return integer
function M.position(files, path)
  local i = vim.iter(ipairs(files)):find(function(_, file) return file.path == path end)
  return i or 1
end

--- Show files in the review's tab page, opening it if needed.
---@param files acp.ReviewFile[]
---@param source acp.ReviewSource
---@param path? string file to show first
function M.present(files, source, path)
  require('acp.ui.highlights').define()
  require('acp.ui.window').when_free(function()
    if review and (review.source ~= source or not M.state()) then finish(review) end
    if review then
      review.files = files
      api.nvim_set_current_tabpage(review.tab)
      if review.list and not api.nvim_win_is_valid(review.list) then review.list = nil end
      open_list(review)
    else
      open_tab(files, source)
    end
    M.show(M.position(files, path))
  end)
end

--- Update the files in the list and add new ones. No file is removed from the list, and the same
--- file remains in view.
---@param files acp.ReviewFile[]
function M.update(files)
  local state = review --[[@as acp.Review]]
  local new = {}
  for _, file in ipairs(files) do
    new[file.path] = file
  end
  for i, file in ipairs(state.files) do
    local now = new[file.path]
    if now then
      now.titles, new[file.path] = file.titles, nil
      state.files[i] = now
    end
  end
  for _, file in ipairs(files) do
    if new[file.path] then table.insert(state.files, file) end
  end
  if api.nvim_get_current_tabpage() == state.tab then open_list(state) end
  if state.list and api.nvim_win_is_valid(state.list) then
    api.nvim_win_set_height(state.list, list_height(state.files))
  end
  refresh()
end

function M.close()
  local state = review
  if state then require('acp.ui.window').when_free(function() finish(state) end) end
end

return M
