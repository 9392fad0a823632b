--- The chat: `acp://chat/{n}`, a scratch buffer that the host fills row by row.
local M = {}

local api = vim.api
local ns = api.nvim_create_namespace('acp.chat')
local ns_targets = api.nvim_create_namespace('acp.chat.targets')

---@class acp.Chat
---@field n integer
---@field bufnr integer
---@field targets table<integer, table|integer> extmark id -> what <CR> does there
---@field folds table<string, integer> block id -> extmark id
---@field open integer bytes of the row that grew last
---@field long boolean whether it holds a row longer than LONG
local chats = {} ---@type table<integer, acp.Chat>
local by_buffer = {} ---@type table<integer, acp.Chat>

--- Bytes of a row from which on breaking at words costs more time than a frame has: Neovim then
--- measures the whole row for each redraw.
local LONG = 8000

local window_options = {
  wrap = true,
  linebreak = true,
  breakindent = true,
  breakindentopt = 'list:-1',
  number = false,
  relativenumber = false,
  signcolumn = 'no',
  foldcolumn = '0',
  foldmethod = 'manual',
  foldtext = '',
  foldenable = true,
  foldlevel = 0,
  fillchars = 'fold: ,eob: ',
  list = false,
  spell = false,
  cursorline = false,
  conceallevel = 0,
}

local function scratch(name, filetype)
  local bufnr = api.nvim_create_buf(false, true)
  api.nvim_buf_set_name(bufnr, name)
  local options = vim.bo[bufnr]
  options.bufhidden = 'hide'
  options.swapfile = false
  options.modeline = false
  options.undolevels = -1
  options.formatlistpat = [[^\s*\%(\d\+[.)]\|[-*+]\%( \[.\]\)\?\)\s\+]]
  options.modifiable = false
  options.filetype = filetype
  return bufnr
end

local function dress(win, chat)
  for name, value in pairs(window_options) do
    if chat.long and (name == 'linebreak' or name == 'breakindent') then
      value = false
    end
    api.nvim_set_option_value(name, value, { win = win, scope = 'local' })
  end
  require('acp.folds').dress(win, chat)
end

--- Note rows that came or grew; from the first long one on, rows break anywhere.
local function measure(chat, lines, open)
  local long = open + #lines[1]
  chat.open = #lines > 1 and #lines[#lines] or long
  for i = 2, #lines do
    long = math.max(long, #lines[i])
  end
  if long <= LONG or chat.long then
    return
  end
  chat.long = true
  for _, win in ipairs(vim.fn.win_findbuf(chat.bufnr)) do
    for _, name in ipairs({ 'linebreak', 'breakindent' }) do
      api.nvim_set_option_value(name, false, { win = win, scope = 'local' })
    end
  end
end

local function attach(chat)
  api.nvim_create_autocmd('BufWinEnter', {
    buffer = chat.bufnr,
    callback = function()
      dress(api.nvim_get_current_win(), chat)
    end,
  })
  require('acp.buffer').on_read(chat.bufnr, function()
    M.reset(chat.n)
    require('acp.host').notify('redraw', { session = chat.n })
  end)
  api.nvim_create_autocmd('BufWipeout', {
    buffer = chat.bufnr,
    callback = function()
      by_buffer[chat.bufnr], chats[chat.n] = nil, nil
    end,
  })
end

--- Create the buffer of session n, or return the one it has.
---@param n integer
---@return integer bufnr
function M.create(n)
  local chat = chats[n]
  if chat and api.nvim_buf_is_loaded(chat.bufnr) then
    return chat.bufnr
  end
  chat = {
    n = n,
    bufnr = scratch(('acp://chat/%d'):format(n), 'acpchat'),
    targets = {},
    folds = {},
    open = 0,
  }
  chats[n], by_buffer[chat.bufnr] = chat, chat
  require('acp.highlights').define()
  attach(chat)
  require('acp.current').watch()
  require('acp.keymaps').attach('chat', chat.bufnr, n)
  require('acp.state').set({ 'sessions', n, 'chat_bufnr' }, chat.bufnr)
  return chat.bufnr
end

---@param n integer
---@return integer? bufnr
function M.bufnr(n)
  return chats[n] and chats[n].bufnr
end

--- The chat to write into; a wiped buffer is asked for again as a whole.
---@return acp.Chat?
local function writable(n)
  local chat = chats[n]
  if chat and api.nvim_buf_is_loaded(chat.bufnr) then
    return chat
  end
  M.create(n)
  require('acp.host').notify('redraw', { session = n })
end

--- Windows that stand on the last line follow the end; no other window is moved.
local function followers(bufnr)
  local last = api.nvim_buf_line_count(bufnr)
  local found = {}
  for _, win in ipairs(vim.fn.win_findbuf(bufnr)) do
    if api.nvim_win_get_cursor(win)[1] == last then
      found[#found + 1] = win
    end
  end
  return found
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
  api.nvim_set_option_value('modifiable', true, own) -- half the price of vim.bo
  local ok, err = pcall(change, bufnr)
  api.nvim_set_option_value('modifiable', false, own)
  follow(bufnr, windows)
  if not ok then
    require('acp.host').notify('redraw', { session = chat.n })
    error(err, 0)
  end
end

--- Group names to ids: a name would be looked up again for each of many spans.
local groups = setmetatable({}, {
  __index = function(self, name)
    local id = api.nvim_get_hl_id_by_name(name)
    self[name] = id
    return id
  end,
})

---@param spans any[] row, column, end column and group of one after the other
local function draw_spans(bufnr, row, spans)
  local set_extmark, options = api.nvim_buf_set_extmark, { strict = false }
  for i = 1, #spans, 4 do
    options.end_col, options.hl_group = spans[i + 2], groups[spans[i + 3]]
    set_extmark(bufnr, ns, row + spans[i], spans[i + 1], options)
  end
end

---@param targets any[] row, last row and data of one after the other
local function draw_targets(chat, row, targets)
  local options = { end_right_gravity = false, strict = false }
  for i = 1, #targets, 3 do
    options.end_row = row + targets[i + 1] + 1
    local mark = api.nvim_buf_set_extmark(chat.bufnr, ns_targets, row + targets[i], 0, options)
    chat.targets[mark] = targets[i + 2]
  end
end

--- What a target's data says: a number is a tool call, from 0.
---@param data table|integer
---@return table
local function meaning(data)
  return type(data) == 'number' and { kind = 'tool', call = data } or data --[[@as table]]
end

local function clear(chat, first, last)
  api.nvim_buf_clear_namespace(chat.bufnr, ns, first, last)
  local marks = api.nvim_buf_get_extmarks(chat.bufnr, ns_targets, { first, 0 }, { last, -1 }, {})
  for _, mark in ipairs(marks) do
    if mark[2] < last then
      chat.targets[mark[1]] = nil
      api.nvim_buf_del_extmark(chat.bufnr, ns_targets, mark[1])
    end
  end
end

--- Frame operation: replace rows [first, last).
---@param n integer
---@param first integer
---@param last integer
---@param lines string[]
---@param decor {[1]: any[], [2]: any[]} spans and targets, rows relative to `first`
function M.replace(n, first, last, lines, decor)
  local chat = writable(n)
  if not chat then
    return
  end
  edit(chat, function(bufnr)
    if last > first then
      clear(chat, first, last)
    end
    api.nvim_buf_set_lines(bufnr, first, last, true, lines)
    measure(chat, lines[1] and lines or { '' }, 0)
    draw_spans(bufnr, first, decor[1])
    draw_targets(chat, first, decor[2])
  end)
end

--- Frame operation: append text to the end of `row`.
---@param n integer
---@param row integer
---@param lines string[] the first one continues `row`
---@param decor {[1]: any[], [2]: any[]} spans and targets, relative to `row`
function M.append(n, row, lines, decor)
  local chat = writable(n)
  if not chat then
    return
  end
  edit(chat, function(bufnr)
    api.nvim_buf_set_text(bufnr, row, -1, row, -1, lines)
    measure(chat, lines, chat.open)
    api.nvim_buf_clear_namespace(bufnr, ns, row, row + 1)
    draw_spans(bufnr, row, decor[1])
    draw_targets(chat, row, decor[2])
  end)
end

--- Frame operation: blocks are foldable from now on, see `acp.folds`.
---@param n integer
---@param folds any[] id, first row, last row and open of one after the other
function M.folds(n, folds)
  if chats[n] then
    require('acp.folds').add(chats[n], folds)
  end
end

--- Frame operation: open or close the fold of a block in every window.
---@param n integer
---@param id string
---@param open boolean
function M.fold_open(n, id, open)
  if chats[n] then
    require('acp.folds').open(chats[n], id, open)
  end
end

--- Frame operation and API: show the chat of n beside, where no window shows it; the focus stays.
---@param n integer
function M.open(n)
  local bufnr = M.create(n)
  local window = require('acp.window')
  if #vim.fn.win_findbuf(bufnr) == 0 then
    local chat = require('acp.config').get().chat
    window.open_beside(bufnr, { layout = chat.layout, size = chat.size, last = true })
  end
end

--- Open the chat of a session or close all its windows.
---@param n integer
function M.toggle(n)
  local bufnr = M.create(n)
  if #vim.fn.win_findbuf(bufnr) > 0 then
    require('acp.window').close_all(bufnr)
  else
    M.open(n)
  end
end

--- Frame operation: forget what is drawn; the host draws all again.
---@param n integer
function M.reset(n)
  local chat = chats[n]
  if not chat then
    return
  end
  edit(chat, function(bufnr)
    api.nvim_buf_clear_namespace(bufnr, -1, 0, -1)
    api.nvim_buf_set_lines(bufnr, 0, -1, true, {})
    chat.targets, chat.folds, chat.open, chat.long = {}, {}, 0, false
  end)
end

--- What stands under the cursor: the innermost target of the cursor's row.
---@return table? data
---@return acp.Chat? chat
function M.target()
  local chat = by_buffer[api.nvim_get_current_buf()]
  if not chat then
    return
  end
  local row = api.nvim_win_get_cursor(0)[1] - 1
  local marks = api.nvim_buf_get_extmarks(chat.bufnr, ns_targets, { row, 0 }, { row, 0 }, {
    details = true,
    overlap = true,
  })
  local best, best_size
  for _, mark in ipairs(marks) do
    local size = (mark[4].end_row or mark[2] + 1) - mark[2]
    if mark[2] <= row and row < mark[2] + size and (not best or size <= best_size) then
      best, best_size = meaning(chat.targets[mark[1]]), size
    end
  end
  return best, chat
end

--- Our id of the decision whose card the cursor is on.
---@return string?
function M.card_at_cursor()
  local target = M.target()
  return target and target.decision
end

local function toggle_fold()
  local line = vim.fn.line('.')
  if vim.fn.foldlevel(line) > 0 then
    vim.cmd(vim.fn.foldclosed(line) > 0 and 'foldopen' or 'foldclose')
  end
end

--- <CR>: act on what is under the cursor.
function M.action()
  if vim.fn.foldclosed('.') > 0 then
    vim.cmd('foldopen')
    return
  end
  local target, chat = M.target()
  if not target or target.kind == 'fold' or target.kind == 'turn' then
    toggle_fold()
  elseif target.kind == 'file' then
    require('acp.jump').to(target.path, target.line)
  elseif target.kind == 'url' then
    vim.ui.open(target.url)
  else
    require('acp.show').expect()
    require('acp.host').notify('open', { session = chat.n, target = target })
  end
end

--- Jump to the next (1) or previous (-1) turn.
---@param direction 1|-1
function M.next_turn(direction)
  local chat = by_buffer[api.nvim_get_current_buf()]
  if not chat then
    return
  end
  local row = api.nvim_win_get_cursor(0)[1] - 1
  local best
  for _, mark in ipairs(api.nvim_buf_get_extmarks(chat.bufnr, ns_targets, 0, -1, {})) do
    local target = chat.targets[mark[1]]
    if target and meaning(target).kind == 'turn' and (mark[2] - row) * direction > 0 then
      if direction > 0 then
        best = best or mark[2]
      else
        best = mark[2]
      end
    end
  end
  if best then
    vim.cmd("normal! m'")
    api.nvim_win_set_cursor(0, { best + 1, 0 })
  end
end

return M
