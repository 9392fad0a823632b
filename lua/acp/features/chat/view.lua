--- Chat of a session, `acp://chat/{n}`: a scratch buffer that the host fills row by row.
local M = {}

local api = vim.api
local marks, buffers = require('acp.features.chat.marks'), require('acp.ui.chats')
local hint = require('acp.features.chat.hint')
local folds, scratch = require('acp.features.chat.folds'), require('acp.ui.scratch')
local set, margin = require('acp.ui.win').set, require('acp.features.chat.margin')
local chats = buffers.chats

--- Bytes of a row above which 'linebreak' takes more time than a frame has. Neovim measures the
--- whole row at each redraw.
local LONG = 8000

--- Delay before a new chat gets its filetype, so that the first prompt is sent without waiting.
local FILETYPE_MS = 20

--- Options of windows that show a long row.
local long_row_options = { linebreak = false, breakindent = false }

local window_options = {
  wrap = true,
  linebreak = true,
  breakindent = true,
  breakindentopt = 'list:-1',
  number = false,
  relativenumber = false,
  signcolumn = margin.options.signcolumn,
  foldcolumn = '0',
  statuscolumn = margin.options.statuscolumn,
  foldmethod = 'manual',
  foldtext = "v:lua.require'acp.features.chat.foldtext'.of(v:foldstart)",
  foldenable = true,
  foldlevel = 0,
  foldminlines = 1,
  fillchars = 'fold: ,eob: ,lastline:…',
  winhighlight = 'Folded:,SignColumn:LineNr,WinBarNC:WinBar',
  list = false,
  spell = false,
  cursorline = false,
}

--- Options that are set only once for a window, so that the user can change them.
local once_options = { conceallevel = 2, concealcursor = '' }

--- Options of a new window, which would otherwise get those of every acp window.
local new_window_options = vim.tbl_extend('force', margin.options, {
  winhighlight = window_options.winhighlight,
  fillchars = window_options.fillchars,
})

--- Set the filetype. This is slow, since Neovim searches all of 'runtimepath'.
local function set_filetype(bufnr)
  if api.nvim_buf_is_loaded(bufnr) and vim.bo[bufnr].filetype == '' then
    vim.bo[bufnr].filetype = 'acpchat'
  end
end

local function set_up(win, chat)
  local long_row = chat.has_long_row and long_row_options
  for name, value in pairs(vim.tbl_extend('force', window_options, long_row or {})) do
    set(win, name, value)
  end
  if vim.w[win].acp_chat ~= chat.bufnr then
    vim.w[win].acp_chat = chat.bufnr
    for name, value in pairs(once_options) do
      set(win, name, value)
    end
  end
  folds.create_in_window(win, chat)
  require('acp.features.chat.bar').schedule()
end

---@alias acp.OtherLines integer[] lines in `g:acp_lines`: number, bytes of the longest and last one

--- Record whether new rows are long. After the first long row, turn off 'linebreak' and
--- 'breakindent'.
---@param lines string[] new rows; the first one continues a row
---@param continued integer bytes of that row so far
---@param others? acp.OtherLines further rows
local function measure(chat, lines, continued, others)
  local longest = continued + #lines[1]
  chat.last_length = #lines > 1 and #lines[#lines] or longest
  if others then
    longest, chat.last_length = math.max(longest, others[2]), others[3]
  end
  for i = 2, #lines do
    longest = math.max(longest, #lines[i])
  end
  if longest <= LONG or chat.has_long_row then return end
  chat.has_long_row = true
  for _, win in ipairs(vim.fn.win_findbuf(chat.bufnr)) do
    for name, value in pairs(long_row_options) do
      set(win, name, value)
    end
  end
end

--- Ask the host to draw a chat again. Until then, frames refer to rows that do not exist.
local function request_redraw(chat)
  chat.awaited = true
  require('acp.base.host').notify('redraw', { session = chat.n })
end

--- Conceal the marks of the cursor's line again when the user leaves the window. Neovim does not
--- draw that line if Insert mode begins in the next window.
local function on_left()
  local win, row = api.nvim_get_current_win(), api.nvim_win_get_cursor(0)[1] - 1
  vim.schedule(function()
    if not api.nvim_win_is_valid(win) or win == api.nvim_get_current_win() then return end
    api.nvim__redraw({ win = win, range = { row, row + 1 } })
  end)
end

--- Return the windows of this tab page that show a chat.
local function shown_here(bufnr)
  local function shows(win) return api.nvim_win_get_buf(win) == bufnr end
  return vim.tbl_filter(shows, api.nvim_tabpage_list_wins(0))
end

--- Close the windows that belong to chat `n` of this tab page. If Neovim has gone to one of them,
--- go to the user's window.
local function close_companions(n)
  local win_of, here = require('acp.ui.win'), api.nvim_get_current_win()
  local back = win_of.work()
  require('acp.base.signals').emit('chat_hides', n)
  if not api.nvim_win_is_valid(here) and api.nvim_win_is_valid(back) then
    require('acp.ui.window').focus(back)
  end
end

--- Close the windows that belong to a chat when the user closes the chat's last window by a
--- command of Neovim, such as `:q`. A `:only` in another window does not count.
---@param win integer
local function on_closed(chat, win)
  local is_last = win == api.nvim_get_current_win() and #shown_here(chat.bufnr) == 1
  if not is_last or vim.w[win].acp_hides then return end
  local tab = api.nvim_get_current_tabpage()
  vim.schedule(function()
    local is_gone = not api.nvim_win_is_valid(win) and tab == api.nvim_get_current_tabpage()
    if is_gone and #shown_here(chat.bufnr) == 0 then close_companions(chat.n) end
  end)
end

local function attach(chat)
  local on = require('acp.base.autocmds').in_buffer
  on(chat.bufnr, 'BufWinEnter', function() set_up(api.nvim_get_current_win(), chat) end)
  on(chat.bufnr, 'WinLeave', on_left)
  on(chat.bufnr, 'WinClosed', function(args) on_closed(chat, tonumber(args.match)) end)
  scratch.on_read(chat.bufnr, function()
    M.reset(chat.n)
    request_redraw(chat)
  end)
  on(chat.bufnr, 'BufWipeout', function()
    buffers.forget(chat)
    marks.forget(chat)
  end)
end

--- Return the chat buffer of session n, creating it if needed. The host fills a buffer that
--- replaces a wiped or unloaded one.
---@param new? boolean whether the session is new; the filetype is then set later, to save time now
---@return integer bufnr
function M.create(n, new)
  local chat = chats[n]
  if chat and api.nvim_buf_is_loaded(chat.bufnr) then return chat.bufnr end
  local bufnr = scratch.claim(('acp://chat/%d'):format(n))
  scratch.set_options(bufnr, {
    bufhidden = 'hide',
    swapfile = false,
    modeline = false,
    undolevels = -1,
    formatlistpat = scratch.ITEM,
    modifiable = false,
  })
  chat = {
    n = n,
    bufnr = bufnr,
    highlights = {},
    targets = {},
    colours = {},
    folds = {},
    last_length = 0,
  }
  buffers.add(chat)
  require('acp.ui.highlights').define()
  marks.watch(chat)
  attach(chat)
  for _, win in ipairs(vim.fn.win_findbuf(bufnr)) do
    set_up(win, chat)
  end
  hint.show(bufnr)
  require('acp.ui.current').watch()
  require('acp.features.chat.bar').watch()
  require('acp.features.chat.scroll_end').watch()
  local on_card = require('acp.features.chat.cursor_target').decision
  require('acp.ui.keymaps').attach('chat', bufnr, n, on_card)
  local state = require('acp.base.state')
  local is_known = state.session(n) ~= nil
  if is_known or new then state.set_buffer(n, 'chat_bufnr', bufnr) end
  if new then
    vim.defer_fn(function() set_filetype(bufnr) end, FILETYPE_MS)
    return bufnr
  end
  set_filetype(bufnr)
  if is_known and require('acp.base.host').is_running() then request_redraw(chat) end
  return bufnr
end

--- Frame operation: create the chat of the new session n. Its buffer may exist above a composer.
function M.begin(n)
  local bufnr, state = M.create(n, true), require('acp.base.state')
  if (state.get().sessions[n] or {}).chat_bufnr ~= bufnr then
    state.set_buffer(n, 'chat_bufnr', bufnr)
  end
end

--- Return the chat to write to, nil while the host has to draw it again.
---@return acp.Chat?
local function writable(n)
  M.create(n)
  return not chats[n].awaited and chats[n] or nil
end

--- Return the windows that follow the end: those with the cursor on the last line.
local function followers(bufnr)
  local last = api.nvim_buf_line_count(bufnr)
  local function at_end(win) return api.nvim_win_get_cursor(win)[1] == last end
  return vim.tbl_filter(at_end, vim.fn.win_findbuf(bufnr))
end

local function follow(bufnr, windows)
  local last = api.nvim_buf_line_count(bufnr)
  for _, win in ipairs(windows) do
    api.nvim_win_set_cursor(win, { last, 0 })
  end
end

local function edit(chat, change)
  local bufnr, own = chat.bufnr, { buf = chat.bufnr }
  local windows = followers(bufnr)
  hint.hide(bufnr)
  api.nvim_set_option_value('modifiable', true, own) -- takes half the time of vim.bo
  local ok, err = pcall(change, bufnr)
  api.nvim_set_option_value('modifiable', false, own)
  follow(bufnr, windows)
  if not ok then
    request_redraw(chat)
    error(err, 0)
  end
end

--- Frame operation: replace rows [first, last).
---@param decor any[] see `M.set` of `acp.features.chat.marks`; rows relative to `first`
function M.replace(n, first, last, lines, decor)
  local chat = writable(n)
  if not chat then return end
  edit(chat, function(bufnr)
    local total = api.nvim_buf_line_count(bufnr)
    scratch.replace(bufnr, first, last, lines)
    marks.splice(chat, first, last, #lines, total)
    folds.splice(chat, first, last, #lines)
    measure(chat, lines[1] and lines or { '' }, 0)
    marks.set(chat, first, decor)
  end)
  if #lines < last - first then folds.fill_windows(chat) end
end

--- Frame operation: append text to the end of `row`.
---@param lines string[] the first one continues `row`
---@param decor any[] see `M.set` of `acp.features.chat.marks`; rows relative to `row`
---@param others? acp.OtherLines
function M.append(n, row, lines, decor, others)
  local chat = writable(n)
  if not chat then
    vim.g.acp_lines = nil
    return
  end
  local count = #lines - 1 + (others and others[1] or 0)
  edit(chat, function(bufnr)
    local total = api.nvim_buf_line_count(bufnr)
    scratch.append(bufnr, row, lines)
    if others then scratch.insert_variable(bufnr, row + #lines, others[1]) end
    if count > 0 then
      marks.splice(chat, row + 1, row + 1, count, total)
      folds.splice(chat, row + 1, row + 1, count)
    end
    measure(chat, lines, chat.last_length, others)
    chat.highlights[row + 1], chat.colours[row + 1] = nil, nil
    marks.set(chat, row, decor)
  end)
end

--- Frame operation: add folds, see `acp.features.chat.folds`.
---@param list any[] id, first row, last row and open of each fold, one after the other
function M.set_folds(n, list)
  if chats[n] and not chats[n].awaited then folds.add(chats[n], list) end
end

--- Frame operation: open or close the fold of a block in every window.
---@param id string
---@param open boolean
function M.fold_open(n, id, open)
  if chats[n] then folds.open(chats[n], id, open) end
end

--- Frame operation: gather rows in a closed fold with a title.
---@param id string
---@param first integer row
---@param last integer row
---@param title string
function M.gather(n, id, first, last, title)
  if chats[n] and not chats[n].awaited then folds.gather(chats[n], id, first, last, title) end
end

--- Frame operation: remove a gathering fold.
---@param id string
function M.ungather(n, id)
  if chats[n] and not chats[n].awaited then folds.remove(chats[n], id) end
end

---@param win? integer window to show it in, in place of the chat there
---@param leaving? boolean whether the user is going to its composer
local function show(bufnr, win, leaving)
  local config = require('acp.config').get().chat
  local signals, is_replaced = require('acp.base.signals'), false
  local long_row = buffers.of(bufnr).has_long_row and long_row_options
  local opts = {
    layout = config.layout,
    size = config.size,
    options = vim.tbl_extend('force', new_window_options, long_row or {}),
    last = true,
    like = 'acp://chat/',
    leaving = leaving,
    replaced = function(other)
      is_replaced = true
      signals.emit('chat_replaced', buffers.number(other), buffers.number(bufnr), win ~= nil)
    end,
  }
  local window = require('acp.ui.window')
  if win then
    window.replace(win, bufnr, opts)
  else
    win = window.open_beside(bufnr, opts)
  end
  if is_replaced then return end
  signals.emit('chat_opened', buffers.number(bufnr))
  if win then window.restore_width(win, opts) end
end

--- Move the chat's windows in this tab page to its end, which they then follow. Called when the
--- user sends a prompt.
function M.follow(n)
  local chat = chats[n]
  if chat and api.nvim_buf_is_loaded(chat.bufnr) then follow(chat.bufnr, shown_here(chat.bufnr)) end
end

--- Show a chat in the acp window of another chat in this tab page. If there is none, show it beside
--- the other chats.
---@param instead? integer session of the other chat
local function show_instead(bufnr, instead)
  local old = instead and chats[instead]
  local windows = vim.iter(old and shown_here(old.bufnr) or {})
  show(bufnr, windows:find(function(win) return vim.w[win].acp end))
end

--- Frame operation and API: show the chat of n unless a window shows it. The focus does not move.
---@param instead? integer session whose chat it replaces in a window of the plugin
function M.open(n, instead)
  local bufnr = M.create(n)
  if #vim.fn.win_findbuf(bufnr) == 0 then show_instead(bufnr, instead) end
end

--- Frame operation: show the chat of n, which the user has chosen, in this tab page. The focus does
--- not move.
---@param instead? integer session whose chat it replaces; nil for the one that the user is in
function M.choose(n, instead)
  local bufnr = M.create(n)
  if #shown_here(bufnr) > 0 then return end
  show_instead(bufnr, instead or require('acp.ui.current').here())
end

--- Show the chat above the composer of n, which the user opens. The session may not exist yet.
function M.open_here(n)
  local bufnr = M.create(n)
  if require('acp.config').get().chat.open and #shown_here(bufnr) == 0 then
    show(bufnr, nil, true)
  end
end

--- Close the chat of a session in this tab page, and the windows that belong to it.
function M.hide(n)
  require('acp.base.signals').emit('chat_hides', n)
  local window = require('acp.ui.window')
  for _, win in ipairs(shown_here(M.create(n))) do
    vim.w[win].acp_hides = true -- for `on_closed`
    if win == api.nvim_get_current_win() then
      window.leave()
    else
      window.close(win)
    end
  end
end

--- Close the current window of a chat. If it is the last one, close the windows that belong to the
--- chat too.
function M.close(n)
  if #shown_here(M.create(n)) > 1 then return require('acp.ui.window').leave() end
  M.hide(n)
end

--- Open or close the chat of a session in this tab page, with the windows that belong to it.
function M.toggle(n)
  local bufnr = M.create(n)
  if #shown_here(bufnr) > 0 then return M.hide(n) end
  show(bufnr)
  require('acp.base.signals').emit('chat_shown', n)
end

--- Show the chat of a session in this tab page and go there.
function M.enter(n)
  local bufnr = M.create(n)
  if #shown_here(bufnr) == 0 then
    show(bufnr)
    require('acp.base.signals').emit('chat_shown', n)
  end
  local win = shown_here(bufnr)[1]
  if win then require('acp.ui.window').focus(win) end
end

--- Frame operation: clear the chat. The host draws it again.
function M.reset(n)
  local chat = chats[n]
  if not chat then return end
  if not api.nvim_buf_is_loaded(chat.bufnr) then return M.create(n) end -- redraws it
  edit(chat, function(bufnr)
    api.nvim_buf_clear_namespace(bufnr, -1, 0, -1)
    api.nvim_buf_set_lines(bufnr, 0, -1, true, {})
    chat.highlights, chat.targets, chat.colours, chat.folds = {}, {}, {}, {}
    chat.last_length, chat.has_long_row = 0, false
    chat.awaited = nil
  end)
end

return M
