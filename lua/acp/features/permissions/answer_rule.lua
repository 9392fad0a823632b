--- Rule for answers: a question can be answered only if it has been on the screen for `MIN_MS` as
--- the oldest, or if it was on the screen when the command line was entered. A refused key restarts
--- the timing, so that a key held down answers nothing. The timing of a question that arrived while
--- the user was away starts when they return. All keys, mappings and commands that answer check
--- this rule; only Lua's `answer()` does not.
local M = {}

local clock = require('acp.features.permissions.clock')
local pressed_keys = require('acp.features.permissions.pressed_keys')

local MIN_MS = 400

---@class acp.OnScreen
---@field pending table<integer|string, true> questions that have a card
---@field ids table<integer|string, true> questions whose card is in view
---@field oldest? integer|string question that a bare command answers
---@field cursor? integer|string question whose card is under the cursor
---@field bufnr? integer buffer of the cursor
---@field tick? integer its changedtick

---@class acp.TimeShown
---@field ms number time shown until it was last hidden
---@field since? number time at which it appeared on the screen; nil while it is hidden

---@class acp.CommandLine
---@field id? integer|string oldest question on the screen when it was entered
---@field typed boolean whether the user typed the `:`; false for mappings and macros

---@return acp.OnScreen
local function empty_state() return { pending = {}, ids = {} } end

local get_screen, show = empty_state, nil ---@type (fun(): acp.OnScreen), (fun())|nil
local place ---@type fun()
local last = empty_state() ---@type acp.OnScreen
local times = {} ---@type table<integer|string, acp.TimeShown> by id
local entered, executing ---@type acp.CommandLine|nil, acp.CommandLine|nil
local lost_focus_at ---@type number|nil when Neovim lost the focus

--- Stop timing a question that is out of view. Discard a time below `MIN_MS`, so that the question
--- counts as new when it returns.
---@param id integer|string
local function pause(id)
  local ms = M.shown_ms(id) --[[@as number]]
  times[id] = ms >= MIN_MS and { ms = ms } or nil
end

--- Return whether a change to the buffer has moved another card under the cursor.
---@param now acp.OnScreen
local function has_moved_card(now)
  return now.cursor ~= last.cursor and now.bufnr == last.bufnr and now.tick ~= last.tick
end

--- Compare the screen with its last state. A question that has become the oldest or has moved under
--- the cursor counts as new. Timing starts only when Neovim waits for a key: then the screen is
--- drawn and every key typed before has been processed.
---@param waits? boolean whether Neovim waits for a key
local function update(waits)
  local now = get_screen()
  if now.oldest and now.oldest ~= last.oldest then times[now.oldest] = nil end
  if now.cursor and has_moved_card(now) then times[now.cursor] = nil end
  for id, time in pairs(times) do
    if not now.pending[id] then
      times[id] = nil
    elseif time.since and not now.ids[id] then
      pause(id)
    end
  end
  last = now
  -- SafeState does not fire in Terminal mode.
  if not waits and vim.api.nvim_get_mode().mode ~= 't' then return end
  for id in pairs(now.ids) do
    local time = times[id] or { ms = 0 }
    time.since = time.since or clock.ms()
    times[id] = time
  end
end

local watch_command_lines = require('acp.base.once')(function()
  local on = require('acp.base.autocmds').group('acp.seen.command_line')
  on('CmdlineEnter', function()
    update()
    local id = last.oldest
    entered = { id = id and times[id] and id or nil, typed = pressed_keys.is_typed() }
  end, { pattern = ':' })
  on('CmdlineLeave', function()
    local line = entered or { typed = true }
    entered, executing = nil, not vim.v.event.abort and line or nil
    vim.schedule(function()
      if executing == line then executing = nil end
    end)
  end, { pattern = ':' })
end)

--- Restart the timing of questions that arrived since `since`, because the user has returned.
---@param since number
local function restart_since(since)
  lost_focus_at = nil
  for id, time in pairs(times) do
    if time.since and time.since >= since then times[id] = nil end
  end
end

local function watch_screen()
  local on = require('acp.base.autocmds').group('acp.seen')
  lost_focus_at = vim.g.acp_focused == false and clock.ms() or nil
  on('FocusLost', function() lost_focus_at = lost_focus_at or clock.ms() end)
  on('FocusGained', function()
    if lost_focus_at then restart_since(lost_focus_at) end
  end)
  on({ 'VimResume', 'UIEnter' }, function() restart_since(0) end)
  on('SafeState', function() update(true) end)
  require('acp.ui.win').watch_floats(on, function()
    update()
    place()
  end)
end

local is_watching = false

--- Measure how long questions are on the screen.
---@param read_screen fun(): acp.OnScreen
---@param reveal fun() shows hidden cards
---@param adjust fun() places the float of questions again, because other floats have changed
function M.watch(read_screen, reveal, adjust)
  get_screen, show, place = read_screen, reveal, adjust
  vim.schedule(update)
  if is_watching then return end
  is_watching = true
  watch_command_lines()
  watch_screen()
  pressed_keys.watch()
end

--- Stop measuring when no question is pending.
function M.stop()
  get_screen, show, is_watching = empty_state, nil, false
  last, times = empty_state(), {}
  require('acp.base.autocmds').group('acp.seen')
  pressed_keys.stop()
end

--- Restart the timing of a question whose card has changed.
---@param id integer|string
function M.renew(id) times[id] = nil end

--- Return the time that a question has been on the screen.
---@param id integer|string
---@return integer|nil ms nil if it has not been shown yet
function M.shown_ms(id)
  local time = times[id]
  if not time then return nil end
  return math.floor(time.ms + (time.since and clock.ms() - time.since or 0))
end

--- Add `shown_ms` to the questions of a snapshot.
---@param snapshot acp.State
---@return acp.State
function M.annotate(snapshot)
  for _, session in pairs(snapshot.sessions) do
    for _, list in ipairs({ session.permissions or {}, session.questions or {} }) do
      for _, question in ipairs(list) do
        question.shown_ms = M.shown_ms(question.id)
      end
    end
  end
  return snapshot
end

---@param name string message
local function show_message(level, name)
  local notify = require('acp.base.notify')
  notify.defer_messages(notify.show, level, name)
end

--- Restart the timing of all questions on the screen. Otherwise a key held down would repeat and
--- answer a question as soon as its time has passed.
local function restart()
  for id, time in pairs(times) do
    times[id] = time.since and { ms = 0, since = clock.ms() } or nil
  end
end

--- Show a question that the user has not seen, and a message instead of answering it.
local function refuse_unseen()
  restart()
  show_message('warn', 'new_question')
  if show then show() end
end

--- Compare the screen with its last state again, because a window has drawn other cards.
function M.on_drawn()
  if not is_watching then return end
  update()
  place()
end

--- Return whether a key or a mapping may answer a question now. If not, show the reason and the
--- question.
---@param id integer|string
---@param was_there? boolean whether it was on the screen when the command line was typed
---@return boolean
function M.may_answer(id, was_there)
  update()
  if not last.pending[id] then
    show_message('warn', 'question_over')
  elseif was_there or (M.shown_ms(id) or 0) >= MIN_MS then
    return true
  else
    refuse_unseen()
  end
  return false
end

--- Return the question that a command or a mapping answers without a card under the cursor. If it
--- may not answer, show the reason and return nil.
---@return integer|string|nil id
function M.oldest()
  update()
  local line = executing or { id = last.oldest, typed = false }
  if line.id then return M.may_answer(line.id, line.typed) and line.id or nil end
  if last.oldest then
    refuse_unseen()
  else
    show_message('info', 'no_permission')
  end
end

--- Return the question that was the oldest when the current command line was entered; without a
--- command line, the oldest one.
---@return integer|string|nil id
function M.target()
  update()
  local line = executing or entered
  return line and line.id or last.oldest
end

return M
