--- Columns of the overview. A row is as wide as the window. The title gets the room that the other
--- columns leave. If that is too little, the other columns are shortened or left out.
local M = {}

local cut, text_width = require('acp.base.notify').cut, require('acp.base.text.width')

local GAP, MARGIN, MIN_TITLE = '  ', 1, 18 -- the latter two in cells
--- Minimum width of the state, so that the other columns do not move each second.
local STATE = 14

--- Signs and highlight groups by state.
local LOOKS = {
  asks = { '?', 'AcpPermission' },
  login = { '?', 'AcpPermission' },
  starting = { '◐', 'AcpToolRunning' },
  running = { '◐', 'AcpToolRunning' },
  cancelling = { '◐', 'AcpWarning' },
  idle = { '○', 'AcpMuted' },
  failed = { '✗', 'AcpError' },
  closed = { '⊘', 'AcpMuted' },
}

--- Return a duration such as `12s`, `3m`, `2h` or `4d`.
---@param seconds integer
---@param is_timed boolean whether to return `12s`, not `<1m`
---@return string
function M.duration(seconds, is_timed)
  seconds = math.max(seconds, 0)
  if seconds < 60 then return is_timed and seconds .. 's' or '<1m' end
  if seconds < 3600 then return math.floor(seconds / 60) .. 'm' end
  if seconds < 86400 then return math.floor(seconds / 3600) .. 'h' end
  return math.floor(seconds / 86400) .. 'd'
end

--- Return the seconds until the duration changes.
---@param seconds integer
---@param is_timed boolean
---@return integer
function M.next_change(seconds, is_timed)
  seconds = math.max(seconds, 0)
  if is_timed and seconds < 60 then return 1 end
  local unit = seconds < 3600 and 60 or 3600
  return unit - seconds % unit
end

---@param count integer
---@param noun string singular
---@return string
local function count_with_noun(count, noun)
  local suffix = count == 1 and '' or 's'
  return ('%d %s%s'):format(count, noun, suffix)
end

---@param session acp.OverviewSession
local function waiting(session)
  local parts = {}
  if session.questions > 0 then parts[1] = count_with_noun(session.questions, 'question') end
  if session.queued > 0 then parts[#parts + 1] = session.queued .. ' queued' end
  return table.concat(parts, ', ')
end

---@param session acp.OverviewSession
---@param is_short boolean
local function pending(session, is_short)
  if session.files == 0 then return '' end
  if is_short then return ('%d in %d'):format(session.hunks, session.files) end
  local hunks = count_with_noun(session.hunks, 'hunk')
  return ('%s in %s'):format(hunks, count_with_noun(session.files, 'file'))
end

---@class acp.OverviewCells
---@field state string
---@field n string
---@field agent string
---@field title string
---@field waits string
---@field edits string
---@field cost string

--- Columns after the number in their order, with highlight groups. Numbers are at the right.
local ORDER = { 'state', 'n', 'agent', 'title', 'waits', 'edits', 'cost' }
local RIGHT = { n = true, cost = true }
local GROUPS = { n = 'AcpMuted', agent = 'AcpAgent', waits = 'AcpPermission', cost = 'AcpMuted' }

--- Steps that give the title room: maximum width of the agent, and columns to shorten or omit.
---@type { agent: integer, edits?: 'short'|'none', cost?: 'none', waits?: 'none' }[]
local STEPS = {
  { agent = 24 },
  { agent = 12 },
  { agent = 12, edits = 'short' },
  { agent = 8, edits = 'short' },
  { agent = 8, edits = 'short', cost = 'none' },
  { agent = 6, edits = 'short', cost = 'none', waits = 'none' },
  { agent = 6, edits = 'none', cost = 'none', waits = 'none' },
  { agent = 0, edits = 'none', cost = 'none', waits = 'none' },
}

---@param session acp.OverviewSession
---@param now integer
---@return acp.OverviewCells
local function cells(session, step, now)
  local sign = (LOOKS[session.state] or LOOKS.idle)[1]
  local age = M.duration(now - session.since, session.is_timed)
  return {
    state = ('%s %s %s'):format(sign, session.state, age),
    n = tostring(session.n),
    agent = step.agent > 0 and cut(session.agent, step.agent) or '',
    title = (session.child and '└ ' or '') .. session.title,
    waits = step.waits == 'none' and '' or waiting(session),
    edits = step.edits == 'none' and '' or pending(session, step.edits == 'short'),
    cost = step.cost == 'none' and '' or session.cost or '',
  }
end

--- Return the cells of all sessions, and the widths of the columns. An empty column has none.
---@param sessions acp.OverviewSession[]
---@param now integer
---@return acp.OverviewCells[]
---@return table<string, integer>
---@return integer room of the title
local function measure(sessions, step, width, now)
  local rows, widths = {}, { state = STATE }
  for i, session in ipairs(sessions) do
    rows[i] = cells(session, step, now)
    for _, name in ipairs(ORDER) do
      widths[name] = math.max(widths[name] or 0, text_width(rows[i][name]))
    end
  end
  local room = width - 2 * MARGIN
  for _, name in ipairs(ORDER) do
    if name ~= 'title' and (widths[name] or 0) > 0 then room = room - widths[name] - #GAP end
  end
  return rows, widths, room
end

---@class acp.OverviewLine
---@field text string
---@field spans { [1]: integer, [2]: integer, [3]: string }[] column, end column, group

---@param session acp.OverviewSession
---@param row acp.OverviewCells
---@param widths table<string, integer>
---@param room integer width of the title
---@return acp.OverviewLine
local function line(session, row, widths, room)
  local text, spans = (' '):rep(MARGIN), {}
  local look = LOOKS[session.state] or LOOKS.idle
  for _, name in ipairs(ORDER) do
    local size = name == 'title' and room or widths[name]
    if size > 0 then
      local cell = name == 'title' and cut(row.title, room) or row[name]
      local pad = (' '):rep(size - text_width(cell))
      local first = #text + (RIGHT[name] and #pad or 0)
      text = text .. (RIGHT[name] and pad .. cell or cell .. pad) .. GAP
      local group = session.pid and 'AcpMuted' or name == 'state' and look[2] or GROUPS[name]
      if group and cell ~= '' then spans[#spans + 1] = { first, first + #cell, group } end
    end
  end
  return { text = (text:gsub('%s+$', '')), spans = spans }
end

--- Return the row of each session.
---@param sessions acp.OverviewSession[]
---@param width integer cells
---@param now integer seconds since 1970
---@return acp.OverviewLine[]
function M.lines(sessions, width, now)
  local rows, widths, room
  for _, step in ipairs(STEPS) do
    rows, widths, room = measure(sessions, step, width, now)
    if room >= MIN_TITLE then break end
  end
  room = math.max(room, 1)
  local lines = {}
  for i, session in ipairs(sessions) do
    local full = line(session, rows[i], widths, room)
    lines[i] = text_width(full.text) <= width and full
      or { text = cut(full.text, width), spans = {} }
  end
  return lines
end

return M
