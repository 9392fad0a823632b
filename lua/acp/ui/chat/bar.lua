--- The line above a chat: what its session is at, for how long, what waits; whose it is.
local M = {}

local api = vim.api
local literal, set = require('acp.ui.win').literal, require('acp.ui.win').set

local notify = require('acp.base.notify')

local TICK_MS = 1000
local MARGIN, LEAST_TITLE = 4, 8 -- cells
local BUSY = { running = true, cancelling = true, starting = true }

---@class acp.Turn milliseconds
---@field from integer
---@field took? integer when it is over

local turns = {} ---@type table<integer, acp.Turn> the latest of each session
local started = {} ---@type table<integer, integer> when a session began to start, ms
local timer ---@type uv.uv_timer_t|nil
local due = false

---@return string such as `12 s`, `2:05`, `1:02:05`
local function time(ms)
  local s = math.floor(ms / 1000)
  if s < 60 then
    return s .. ' s'
  elseif s < 3600 then
    return ('%d:%02d'):format(s / 60, s % 60)
  end
  return ('%d:%02d:%02d'):format(s / 3600, s / 60 % 60, s % 60)
end

local function counted(count, word) return count > 0 and ('%d %s'):format(count, word) or nil end

local function status(n, session)
  local word, turn = session.status, turns[n]
  started[n] = word == 'starting' and (started[n] or vim.uv.now()) or nil
  if started[n] then return word .. ' ' .. time(vim.uv.now() - started[n]) end
  if BUSY[word] then
    return turn and not turn.took and word .. ' ' .. time(vim.uv.now() - turn.from) or word
  end
  local reason = session.error and 'error' or session.stop_reason
  if word == 'idle' and reason and turn and turn.took then
    reason = reason == 'end_turn' and 'done' or reason:gsub('_', ' ')
    return ('%s after %s'):format(reason, time(turn.took))
  end
  return word
end

--- Id of the mode, or its name.
local function mode(modes)
  local current = vim
    .iter(modes and modes.available or {})
    :find(function(one) return one.id == modes.current end)
  return current and current.name
end

---@param parts (string|nil)[]
local function joined(parts, first, last)
  local found = {}
  for i = first, last do
    found[#found + 1] = parts[i]
  end
  return notify.one_line(table.concat(found, ' · '))
end

--- As much as there is room for: the title gives way first, and how much of the context is used
--- last. Nothing is cut in its middle.
---@param parts (string|nil)[] title, mode, usage
---@param room integer cells
local function fitting(parts, room)
  for first = 1, 3 do
    local text = joined(parts, first, 3)
    local over = vim.fn.strdisplaywidth(text) - room
    if over <= 0 then return text end
    local left = first == 1 and vim.fn.strdisplaywidth(parts[1]) - over or 0
    if left >= LEAST_TITLE then
      return joined({ notify.cut(parts[1], left), parts[2], parts[3] }, 1, 3)
    end
  end
  return ''
end

--- The winbar; questions are highlighted.
---@param width integer cells
local function text(n, width)
  local session = require('acp.base.state').session(n)
  if not session then return '' end
  local status_of = require('acp.ui.statusline')
  local asked = status_of.asked(session)
  local questions = counted(asked, asked == 1 and 'question' or 'questions')
  local now = { status(n, session) }
  now[#now + 1] = counted(#(session.queue or {}), 'waiting')
  now[#now + 1] = counted(status_of.hunks(session.edits or {}), 'to review')
  local plain = joined(now, 1, #now)
  local left = literal(plain)
  if session.error then left = '%#AcpError#' .. left .. '%*' end
  if questions then
    left = left .. ' · %#AcpPermission#' .. questions .. '%*'
    plain = plain .. ' · ' .. questions
  end
  local title = notify.one_line(session.title or session.agent)
  local room = width - vim.fn.strdisplaywidth(plain) - MARGIN
  local right = fitting({ title, mode(session.modes), status_of.usage(session) }, room)
  return (' %s %%<%%=%s '):format(left, literal(right))
end

---@return boolean busy whether a session that is shown is at something
local function update()
  local busy = false
  local shown = require('acp.config').get().chat.bar
  for _, win in ipairs(api.nvim_list_wins()) do
    local n = require('acp.ui.chat.buffers').number(api.nvim_win_get_buf(win))
    if n then
      local value = shown and text(n, api.nvim_win_get_width(win)) or ''
      if vim.w[win].acp_bar ~= value then
        vim.w[win].acp_bar = value
        set(win, 'winbar', value)
      end
      local session = require('acp.base.state').session(n)
      busy = busy or shown and session ~= nil and BUSY[session.status] ~= nil
    end
  end
  return busy
end

--- Draw what has changed; once in a second while a session is at work that some window shows.
function M.update()
  if update() and not timer then
    timer = vim.defer_fn(function()
      timer = nil
      M.update()
    end, TICK_MS)
  end
end

--- The same when what happens now is over: much of it may change what the line says.
function M.later()
  if not due then
    due = true
    vim.schedule(function()
      due = false
      M.update()
    end)
  end
end

--- The windows that show a chat have their line, and keep it up to date.
M.watch = require('acp.base.once')(function()
  local on = require('acp.base.autocmds').group('acp.bar')
  on('WinResized', M.later)
  on('User', function(args)
    local n = args.data.session
    if args.match == 'AcpTurnStart' then
      turns[n] = { from = vim.uv.now() }
    elseif args.match == 'AcpTurnEnd' and turns[n] then
      turns[n].took = vim.uv.now() - turns[n].from
    end
    M.later()
  end, { pattern = { 'AcpTurnStart', 'AcpTurnEnd', 'AcpState' } })
end)

return M
