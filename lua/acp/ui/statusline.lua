--- The short string for a statusline, from the cache alone.
local M = {}

local activity, state = require('acp.ui.activity'), require('acp.base.state')

local used = false -- whether anybody shows it
local shown = '' -- what it said last

--- 12345 -> '12k'.
local function short(count)
  if count >= 1e6 then return ('%.1fM'):format(count / 1e6) end
  return count >= 1000 and ('%dk'):format(math.floor(count / 1000 + 0.5)) or tostring(count)
end

--- Such as `34k/200k`, nil when the agent has not told.
local function usage(session)
  local told = session.usage
  if not told or not told.used or not told.size then return nil end
  return short(told.used) .. (told.size > 0 and '/' .. short(told.size) or '')
end

--- Questions of all sessions but `n`, and of none.
local function asked_elsewhere(n)
  local count = #state.get().elicitations
  for other, session in pairs(state.get().sessions) do
    if other ~= n then count = count + activity.asked(session) end
  end
  if count == 0 then return nil end
  return ('%d %s elsewhere'):format(count, count == 1 and 'question' or 'questions')
end

local function current_text()
  local now = state.get()
  local session = now.current and now.sessions[now.current]
  if not (session and session.agent) then
    return now.host ~= 'stopped' and now.host and 'acp ' .. now.host or ''
  end
  local told = activity.of(now.current, session, state.edits())
  local parts = { told.agent, told.status }
  vim.list_extend(parts, told.counts)
  parts[#parts + 1] = asked_elsewhere(now.current)
  parts[#parts + 1] = usage(session)
  return (table.concat(parts, ' · '):gsub('%%', ''))
end

--- Such as `Claude · running 12 s · 1 queued · 5 to review · 34k/200k`; '' before first use. Holds
--- no `%`.
---@return string
function M.text()
  used, shown = true, current_text()
  return shown
end

--- Draw what has changed, where it is shown.
---@return boolean ticks whether it changes by itself
function M.update()
  if not used then return false end
  if current_text() ~= shown then vim.cmd('redrawstatus! | redrawtabline') end
  local session = state.session()
  return session ~= nil and activity.ticks(session)
end

return M
