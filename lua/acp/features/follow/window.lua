--- Follow-along: a window that the user has chosen shows the files that the agent is working
--- on. No other window changes, and the focus never moves. Following pauses when the user acts in
--- the window.
local M = {}

local api = vim.api
local ns = api.nvim_create_namespace('acp.follow')

local SETTLE_MS, FLASH_MS = 100, 800
local PATH_BYTES = 1000 -- Neovim aborts when it saves a file with a longer name

---@class acp.FollowedWindow
---@field win integer
---@field agent? string the agent's name in the label
---@field active boolean whether it follows; false while the user works in it
---@field winbar string the window's own winbar, without the label
---@field at? acp.FollowPosition last position that is not the user's
---@field applying? boolean

---@class acp.FollowPosition
---@field buf integer
---@field lnum integer
---@field col integer
---@field topline integer
---@field size integer[] columns and rows

---@class acp.Location
---@field path string
---@field line? integer 1-based
---@field roots? string[] the session's directories; nil if the user has allowed showing the file

local followed ---@type acp.FollowedWindow|nil
local waiting ---@type acp.Location|nil last location, not shown yet
local timer ---@type uv.uv_timer_t|nil
local typed = false -- whether one of the user's keys is being processed
local has_begun = false -- whether option `follow` has been applied

-- The label ---------------------------------------------------------------------------------------

local function winbar(win)
  return api.nvim_get_option_value('winbar', { scope = 'local', win = win })
end

local function set_winbar(win, value) require('acp.ui.win').set(win, 'winbar', value) end

local function without_label(value) return (value:gsub('%%#AcpFollow%a*#.-%%%*', '')) end

--- Remove the label from a window that does not follow. Neovim remembers window options by buffer
--- and splits copy them, so the label can appear there.
local function strip(win)
  local value = winbar(win)
  local own = without_label(value)
  if own ~= value then set_winbar(win, own) end
end

--- Return the name of the followed agent: the agent of the current session or of the next one.
local function agent()
  local session = require('acp.base.state').session() or {}
  return require('acp.ui.activity').agent(session.agent or require('acp.base.valid_names').agent())
end

---@param state acp.FollowedWindow
local function show_label(state)
  state.agent = agent()
  local messages = require('acp.base.messages')
  local text = state.active and messages.following:format(state.agent) or messages.following_paused
  local group = state.active and 'AcpFollow' or 'AcpFollowPaused'
  text = require('acp.ui.win').literal(text)
  set_winbar(state.win, ('%%#%s# %s %%*'):format(group, text) .. state.winbar)
end

-- The user's actions ------------------------------------------------------------------------------

---@return acp.FollowPosition
local function position_of(win)
  local buf, cursor = api.nvim_win_get_buf(win), api.nvim_win_get_cursor(win)
  local size = { api.nvim_win_get_width(win), api.nvim_win_get_height(win) }
  local topline = vim.fn.line('w0', win)
  return { buf = buf, lnum = cursor[1], col = cursor[2], topline = topline, size = size }
end

local function pause()
  if followed and followed.active then
    followed.active, waiting = false, nil
    show_label(followed)
  end
end

--- Pause if one of the user's keys has moved the cursor or the view of the followed window. The
--- agent's edits and `apply` move them too, and so does another window that opens or closes.
local function on_moved(win, edited)
  if not followed or win ~= followed.win or followed.applying or not typed then return end
  local now, before = position_of(win), followed.at or {}
  if not vim.deep_equal(now.size, before.size) then before.topline = now.topline end
  before.size = now.size
  if edited or not vim.deep_equal(now, before) then pause() end
end

---@param args { event: string, buf: integer, match: string }
local function on_event(args)
  local win = api.nvim_get_current_win()
  if args.event == 'WinClosed' then
    if followed and tonumber(args.match) == followed.win then
      followed, waiting = nil, nil
    end
  elseif args.event == 'WinScrolled' then
    for id in pairs(vim.v.event) do
      on_moved(tonumber(id) or 0)
    end
  elseif args.event == 'InsertEnter' then
    if followed and win == followed.win then pause() end
  else
    on_moved(win, args.event == 'TextChanged')
  end
end

--- Update the label of a window that is new or shows another buffer.
---@param args { event: string, buf: integer }
local function on_buffer(args)
  local win = api.nvim_get_current_win()
  if not followed or win ~= followed.win then
    strip(win)
  elseif args.event == 'BufWinEnter' and not followed.applying then
    followed.winbar = without_label(winbar(win))
    pause()
    show_label(followed)
  end
end

local watch = require('acp.base.once')(function()
  require('acp.ui.highlights').define()
  local on = require('acp.base.autocmds').group('acp.follow')
  on({ 'CursorMoved', 'TextChanged', 'InsertEnter', 'WinScrolled', 'WinClosed' }, on_event)
  on({ 'BufWinEnter', 'WinNew' }, on_buffer)
  vim.on_key(function(_, keys) typed = typed or (keys ~= nil and keys ~= '') end, ns)
  -- At SafeState, all effects of a key are complete.
  on('SafeState', function() typed = false end)
end)

-- Following ---------------------------------------------------------------------------------------

--- Return whether a file is in one of these directories, with links resolved.
local function is_within(path, roots)
  local real, real_roots = vim.uv.fs_realpath(path), {}
  for _, root in ipairs(roots) do
    real_roots[#real_roots + 1] = vim.uv.fs_realpath(root)
  end
  return real ~= nil and require('acp.base.paths').is_below(real, real_roots)
end

--- Return whether Neovim can show the file at once and the agent may read it. A file that is
--- already open may always be shown.
---@param location acp.Location
local function can_show(location)
  local path, config = location.path, require('acp.config').get()
  if #path > PATH_BYTES then return false end
  if require('acp.buffers.loaded').buffer(path) then return true end
  local stat = vim.uv.fs_stat(path)
  if not stat or stat.type ~= 'file' or stat.size > config.limits.message_bytes then
    return false
  end
  local is_allowed = not location.roots or config.files.outside == 'allow'
  return (is_allowed or is_within(path, location.roots)) and vim.uv.fs_access(path, 'R') == true
end

local function flash(bufnr, line)
  local options = { line_hl_group = 'AcpFlash', priority = 200 }
  local id = api.nvim_buf_set_extmark(bufnr, ns, line - 1, 0, options)
  vim.defer_fn(function()
    if api.nvim_buf_is_valid(bufnr) then api.nvim_buf_del_extmark(bufnr, ns, id) end
  end, FLASH_MS)
end

--- Move the cursor to the line. Scroll it to the middle of the window if it is out of view.
local function reveal(line)
  api.nvim_win_set_cursor(0, { line, 0 })
  vim.cmd('silent! .foldopen!')
  if line < vim.fn.line('w0') or line > vim.fn.line('w$') then
    local top = math.max(line - math.floor(api.nvim_win_get_height(0) / 2), 1)
    vim.fn.winrestview({ topline = top })
  end
end

--- Show the file in the followed window, which has to be the current one. `:hide` keeps unsaved
--- changes of the previous buffer. 'A' in 'shortmess' avoids the question about a swap file.
--- Modelines are off because the agent has chosen the file.
---@param state acp.FollowedWindow
---@param location acp.Location
local function edit(state, location)
  local files = require('acp.buffers.loaded')
  local bufnr = files.buffer(location.path) or files.add(location.path)
  if bufnr ~= api.nvim_get_current_buf() or (location.line or 0) ~= vim.fn.line('.') then
    vim.cmd("mark '")
  end
  if bufnr ~= api.nvim_get_current_buf() then
    vim.bo[bufnr].buflisted = true
    set_winbar(state.win, state.winbar)
    local with, command = require('acp.base.options').with, 'silent keepalt hide buffer ' .. bufnr
    local ok, why = with(vim.go, { shortmess = vim.go.shortmess .. 'A' }, function()
      local shown, reason = with(vim.bo[bufnr], { modeline = false }, vim.cmd, command)
      if not shown then error(reason, 0) end
    end)
    if not ok then
      show_label(state)
      error(why, 0)
    end
    state.winbar = without_label(winbar(state.win))
    show_label(state)
  end
  if location.line then
    local line = math.min(math.max(location.line, 1), api.nvim_buf_line_count(bufnr))
    reveal(line)
    flash(bufnr, line)
  end
end

local apply

local function follow_later(ms)
  if timer then return end
  timer = vim.defer_fn(function()
    timer = nil
    apply()
  end, ms)
end

function apply()
  local state, location = followed, waiting
  waiting = nil
  if not state or not state.active or not location then return end
  if not api.nvim_win_is_valid(state.win) or not can_show(location) then return end
  if state.agent ~= agent() then show_label(state) end
  state.applying = true
  local ok, why = pcall(api.nvim_win_call, state.win, function() edit(state, location) end)
  state.applying = false
  state.at = position_of(state.win)
  if not ok and require('acp.buffers.save').is_locked(why) then
    waiting = waiting or location
    follow_later(SETTLE_MS)
  elseif not ok then
    error(why, 0)
  end
end

--- Show a location at which the agent is working. If several locations arrive within 100 ms, only
--- the last is shown.
---@param session integer ignored unless it is the current session
---@param line? integer|userdata 1-based; vim.NIL if unknown
---@param roots? string[] the session's directories, unless the user has allowed showing the file
function M.show(session, path, line, roots)
  local current = require('acp.base.state').current()
  if not followed or not followed.active or (current and session ~= current) then return end
  local file = require('acp.ui.jump').file(path, session)
  local known = type(line) == 'number' and line or nil
  waiting = file and { path = file, line = known, roots = roots } or waiting
  follow_later(SETTLE_MS)
end

-- The command -------------------------------------------------------------------------------------

--- Stop following. The window keeps its buffer.
function M.stop()
  local state = followed
  followed, waiting = nil, nil
  if state and api.nvim_win_is_valid(state.win) then
    vim.w[state.win].acp_follow = nil
    set_winbar(state.win, state.winbar)
  end
end

--- Return whether a window can follow: not a float, and not fixed, special or the plugin's.
local function can_follow(win)
  local is_own = vim.w[win].acp or vim.w[win].acp_review
  return not is_own
    and not require('acp.ui.win').is_float(win)
    and not vim.wo[win].winfixbuf
    and vim.bo[api.nvim_win_get_buf(win)].buftype == ''
end

local function start(win)
  M.stop()
  watch()
  strip(win)
  followed = { win = win, active = true, winbar = winbar(win), at = position_of(win) }
  vim.w[win].acp_follow = true
  show_label(followed)
end

--- End the pause of a window that follows.
---@param state acp.FollowedWindow
local function resume(state)
  state.active, state.at = true, position_of(state.win)
  show_label(state)
end

--- `:Acp follow`: stop if a window follows. Resume a paused window if it is the current one or if
--- the current one cannot follow. Otherwise let the current window follow.
function M.toggle()
  local win = api.nvim_get_current_win()
  if followed and not api.nvim_win_is_valid(followed.win) then -- closed while autocommands were off
    followed = nil
  end
  if followed and followed.active then
    local is_other_window = followed.win ~= win
    M.stop()
    if is_other_window then require('acp.base.notify').show('info', 'following_off') end
    return
  end
  local is_possible = can_follow(win)
  if followed and (followed.win == win or not is_possible) then return resume(followed) end
  if is_possible then
    start(win)
  else
    require('acp.base.notify').show('error', 'follow_elsewhere')
  end
end

--- Start to follow at the first prompt, for option `follow`: in the current window, or in the
--- previous one if the current one cannot follow.
function M.begin()
  if has_begun or followed then return end
  has_begun = true
  local windows = vim.iter({ api.nvim_get_current_win(), require('acp.ui.win').previous() })
  local win = windows:find(can_follow)
  if win then start(win) end
end

--- Return the state of the followed window: `'following'`, `'paused'`, or nil if there is none.
---@return 'following'|'paused'|nil
---@return integer|nil win
function M.status()
  if followed then return followed.active and 'following' or 'paused', followed.win end
end

return M
