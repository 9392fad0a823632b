--- The chat: `acp://chat/{n}`, a scratch buffer that the host fills row by row.
local M = {}

local api = vim.api
local marks, buffers = require('acp.ui.chat.marks'), require('acp.ui.chat.buffers')
local folds, scratch = require('acp.ui.chat.folds'), require('acp.ui.scratch')
local set, margin = require('acp.ui.win').set, require('acp.ui.chat.margin')
local chats = buffers.chats

--- Bytes of a row from which on breaking at words costs more time than a frame has: Neovim then
--- measures the whole row for each redraw.
local LONG = 8000

--- When a new chat gets its filetype: its first prompt is on its way then.
local FILETYPE_MS = 20

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
  foldtext = "v:lua.require'acp.ui.chat.foldtext'.of(v:foldstart)",
  foldenable = true,
  foldlevel = 0,
  foldminlines = 1,
  fillchars = 'fold: ,eob: ,lastline:…',
  winhighlight = 'Folded:,SignColumn:LineNr',
  list = false,
  spell = false,
  cursorline = false,
}

--- Set once for a window: what the user makes of them stays.
local once_options = { conceallevel = 2, concealcursor = '' }

--- Neovim looks for files of the filetype in every directory of 'runtimepath'.
local function set_filetype(bufnr)
  if api.nvim_buf_is_loaded(bufnr) and vim.bo[bufnr].filetype == '' then
    vim.bo[bufnr].filetype = 'acpchat'
  end
end

local function dress(win, chat)
  for name, value in pairs(window_options) do
    if chat.long and (name == 'linebreak' or name == 'breakindent') then value = false end
    set(win, name, value)
  end
  if vim.w[win].acp_chat ~= chat.bufnr then
    vim.w[win].acp_chat = chat.bufnr
    for name, value in pairs(once_options) do
      set(win, name, value)
    end
  end
  folds.dress(win, chat)
  require('acp.ui.chat.bar').later()
end

--- Note rows that came or grew; from the first long one on, rows break anywhere.
local function measure(chat, lines, open)
  local long = open + #lines[1]
  chat.open = #lines > 1 and #lines[#lines] or long
  for i = 2, #lines do
    long = math.max(long, #lines[i])
  end
  if long <= LONG or chat.long then return end
  chat.long = true
  for _, win in ipairs(vim.fn.win_findbuf(chat.bufnr)) do
    set(win, 'linebreak', false)
    set(win, 'breakindent', false)
  end
end

--- Ask for a chat again as a whole: what comes until then is of rows that are not there.
local function ask_again(chat)
  chat.awaited = true
  require('acp.base.host').notify('redraw', { session = chat.n })
end

local function attach(chat)
  local on = require('acp.base.autocmds').in_buffer
  on(chat.bufnr, 'BufWinEnter', function() dress(api.nvim_get_current_win(), chat) end)
  scratch.leave_insert(chat.bufnr)
  scratch.on_read(chat.bufnr, function()
    M.reset(chat.n)
    ask_again(chat)
  end)
  on(chat.bufnr, 'BufWipeout', function()
    buffers.forget(chat)
    marks.forget(chat)
  end)
end

--- Create the buffer of session n, or return the one it has. One in place of a buffer that was
--- wiped or unloaded is drawn by the host.
---@param new? boolean there was none: its filetype comes a little later, no key has to wait for it
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
  chat = { n = n, bufnr = bufnr, looks = {}, targets = {}, colours = {}, folds = {}, open = 0 }
  buffers.add(chat)
  require('acp.ui.highlights').define()
  marks.watch(chat)
  attach(chat)
  for _, win in ipairs(vim.fn.win_findbuf(bufnr)) do
    dress(win, chat)
  end
  require('acp.ui.current').watch()
  require('acp.ui.chat.bar').watch()
  require('acp.ui.chat.scroll_end').watch()
  local on_card = require('acp.ui.chat.cursor_target').decision
  require('acp.ui.keymaps').attach('chat', bufnr, n, on_card)
  local state = require('acp.base.state')
  local known = state.session(n) ~= nil
  if known or new then state.set_buffer(n, 'chat_bufnr', bufnr) end
  if new then
    vim.defer_fn(function() set_filetype(bufnr) end, FILETYPE_MS)
    return bufnr
  end
  set_filetype(bufnr)
  if known and require('acp.base.host').running() then ask_again(chat) end
  return bufnr
end

--- Frame operation: there is a session n. Its chat may have waited for it, above a composer.
function M.begin(n)
  local bufnr, state = M.create(n, true), require('acp.base.state')
  if (state.get().sessions[n] or {}).chat_bufnr ~= bufnr then
    state.set_buffer(n, 'chat_bufnr', bufnr)
  end
end

--- The chat to write into, nil for one that the host is yet to draw anew.
---@return acp.Chat?
local function writable(n)
  M.create(n)
  return not chats[n].awaited and chats[n] or nil
end

--- Windows that stand on the last line follow the end; no other window is moved.
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

--- Windows of this tab page that show a chat.
local function shown_here(bufnr)
  local function shows(win) return api.nvim_win_get_buf(win) == bufnr end
  return vim.tbl_filter(shows, api.nvim_tabpage_list_wins(0))
end

local function edit(chat, change)
  local bufnr, own = chat.bufnr, { buf = chat.bufnr }
  local windows = followers(bufnr)
  api.nvim_set_option_value('modifiable', true, own) -- half the price of vim.bo
  local ok, err = pcall(change, bufnr)
  api.nvim_set_option_value('modifiable', false, own)
  follow(bufnr, windows)
  if not ok then
    ask_again(chat)
    error(err, 0)
  end
end

--- Frame operation: replace rows [first, last).
---@param decor any[] see `acp.ui.chat.marks`, rows relative to `first`
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
  if #lines < last - first then folds.fill(chat) end
end

--- Frame operation: append text to the end of `row`.
---@param lines string[] the first one continues `row`
---@param decor any[] see `acp.ui.chat.marks`, rows relative to `row`
function M.append(n, row, lines, decor)
  local chat = writable(n)
  if not chat then return end
  edit(chat, function(bufnr)
    local total = api.nvim_buf_line_count(bufnr)
    scratch.append(bufnr, row, lines)
    if #lines > 1 then
      marks.splice(chat, row + 1, row + 1, #lines - 1, total)
      folds.splice(chat, row + 1, row + 1, #lines - 1)
    end
    measure(chat, lines, chat.open)
    chat.looks[row + 1], chat.colours[row + 1] = nil, nil
    marks.set(chat, row, decor)
  end)
end

--- Frame operation: blocks are foldable from now on, see `acp.ui.chat.folds`.
---@param list any[] id, first row, last row and open of one after the other
function M.folds(n, list)
  if chats[n] and not chats[n].awaited then folds.add(chats[n], list) end
end

--- Frame operation: open or close the fold of a block in every window.
---@param id string
---@param open boolean
function M.fold_open(n, id, open)
  if chats[n] then folds.open(chats[n], id, open) end
end

--- Frame operation: these rows are one line from now on, which opens.
---@param id string
---@param first integer row
---@param last integer row
---@param title string
function M.gather(n, id, first, last, title)
  if chats[n] and not chats[n].awaited then folds.gather(chats[n], id, first, last, title) end
end

--- Frame operation: they are no more.
---@param id string
function M.ungather(n, id)
  if chats[n] and not chats[n].awaited then folds.remove(chats[n], id) end
end

---@param win? integer the window to show it in, where that is known
---@param leaving? boolean whether the user goes to its composer
local function show(bufnr, win, leaving)
  local chat = require('acp.config').get().chat
  local signals, taken = require('acp.base.signals'), false
  local opts = {
    layout = chat.layout,
    size = chat.size,
    options = margin.options,
    last = true,
    like = 'acp://chat/',
    leaving = leaving,
    replaced = function(other)
      taken = true
      signals.emit('chat_replaced', buffers.number(other), buffers.number(bufnr))
    end,
  }
  local window = require('acp.ui.window')
  if win then
    window.replace(win, bufnr, opts)
  else
    window.open_beside(bufnr, opts)
  end
  if not taken then signals.emit('chat_opened', buffers.number(bufnr)) end
end

--- The user has sent a prompt from the composer of n: its windows here go to the end, and follow it
--- again.
function M.follow(n)
  local chat = chats[n]
  if chat and api.nvim_buf_is_loaded(chat.bufnr) then follow(chat.bufnr, shown_here(chat.bufnr)) end
end

--- Frame operation and API: show the chat of n beside, where no window shows it; the focus stays.
---@param instead? integer number of a session: in place of its chat, where that is shown
function M.open(n, instead)
  local bufnr = M.create(n)
  if #vim.fn.win_findbuf(bufnr) > 0 then return end
  local old = instead and chats[instead]
  show(bufnr, old and vim.fn.win_findbuf(old.bufnr)[1])
end

--- The user opens the composer of n: its chat, which may be of a session to come, stands above it.
function M.open_here(n)
  local bufnr = M.create(n)
  if require('acp.config').get().chat.open and #shown_here(bufnr) == 0 then
    show(bufnr, nil, true)
  end
end

--- Open the chat of a session in this tab page, or close it there.
function M.toggle(n)
  local bufnr = M.create(n)
  local windows = shown_here(bufnr)
  if #windows == 0 then show(bufnr) end
  vim.iter(windows):each(require('acp.ui.window').close)
end

--- Frame operation: forget what is drawn; the host draws all again.
function M.reset(n)
  local chat = chats[n]
  if not chat then return end
  if not api.nvim_buf_is_loaded(chat.bufnr) then return M.create(n) end -- it asks for another one
  edit(chat, function(bufnr)
    api.nvim_buf_clear_namespace(bufnr, -1, 0, -1)
    api.nvim_buf_set_lines(bufnr, 0, -1, true, {})
    chat.looks, chat.targets, chat.colours, chat.folds = {}, {}, {}, {}
    chat.open, chat.long = 0, false
    chat.awaited = nil
  end)
end

return M
