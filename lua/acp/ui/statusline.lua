--- Short text for a statusline, built from cached state only.
local M = {}

local activity, state = require('acp.ui.activity'), require('acp.base.state')

local shown = {} ---@type table<boolean, string> last texts returned, by whether they are short

--- Return tokens used and available, such as `34k/200k`; nil if the agent has not reported them.
local function usage(session)
  local reported = session.usage
  if not reported or not reported.used or not reported.size then return nil end
  return activity.tokens(reported.used)
    .. (reported.size > 0 and '/' .. activity.tokens(reported.size) or '')
end

--- Count the pending questions outside session `n`, including those without a session.
local function questions_elsewhere(n)
  local count = #state.get().elicitations
  for other, session in pairs(state.get().sessions) do
    if other ~= n then count = count + activity.question_count(session) end
  end
  if count == 0 then return nil end
  return ('%d %s elsewhere'):format(count, count == 1 and 'question' or 'questions')
end

---@param short boolean
local function current_text(short)
  local now = state.get()
  local session = now.current and now.sessions[now.current]
  if not (session and session.agent) then
    local has_news = now.host == 'starting' or now.host == 'failed'
    return has_news and 'acp ' .. now.host or ''
  end
  local summary = activity.of(now.current, session, state.edits())
  local parts = { summary.status }
  vim.list_extend(parts, summary.counts)
  parts[#parts + 1] = questions_elsewhere(now.current)
  if not short then vim.list_extend(parts, { summary.agent, usage(session) }) end
  return (table.concat(parts, ' · '):gsub('%%', ''))
end

--- Return the text, such as `running 12 s · 1 queued · 5 to review · Claude · 34k/200k`; '' before
--- first use. It contains no `%`.
---@param short boolean whether to leave out the agent and the used context
---@return string
function M.text(short)
  shown[short] = current_text(short)
  return shown[short]
end

--- Return whether the user has a question to answer, or has to log in.
---@param session acp.Session
local function is_stuck(n, session)
  local agent = state.get().agents[session.agent]
  local needs_login = agent and agent.status == 'auth_required' and session.status ~= 'running'
  local has_question = activity.question_count(session) > 0 or questions_elsewhere(n) ~= nil
  return has_question or needs_login or false
end

---@return string|nil group
local function current_group()
  local now = state.get()
  local session = now.current and now.sessions[now.current]
  if not (session and session.agent) then
    return now.host == 'failed' and 'AcpStateFailed'
      or now.host == 'starting' and 'AcpStateRunning'
      or nil
  end
  return is_stuck(now.current, session) and 'AcpStateWaiting'
    or (session.error or session.status == 'failed') and 'AcpStateFailed'
    or activity.is_ticking(session) and 'AcpStateRunning'
    or #state.edits() > 0 and 'AcpStateReview'
    or 'AcpStateIdle'
end

--- Return the highlight group for the text, by the most urgent state; '' before first use.
---@return string
function M.group()
  local group = current_group()
  if group then require('acp.ui.highlights').define() end
  return group or ''
end

--- Redraw the statuslines if the text is shown and has changed.
---@return boolean ticks whether the text changes with time
function M.update()
  if next(shown) == nil then return false end
  for short, text in pairs(shown) do
    if current_text(short) ~= text then
      vim.cmd('redrawstatus! | redrawtabline')
      break
    end
  end
  local session = state.session()
  return session ~= nil and activity.is_ticking(session)
end

return M
