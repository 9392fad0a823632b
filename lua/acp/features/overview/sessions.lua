--- Sessions in the overview: this Neovim's come from the state, those of others from their files.
local M = {}

local activity, notify = require('acp.ui.activity'), require('acp.base.notify')
local checkouts = require('acp.features.overview.checkouts')
local others = require('acp.features.overview.others')

---@class acp.OverviewSession
---@field key string the same as long as it is shown
---@field n integer number in its Neovim
---@field pid? integer process of its Neovim, nil for this one
---@field elsewhere? boolean whether its Neovim has ended and its edits are shown here
---@field child? boolean whether it is a subagent
---@field is_closed_to_prompts? boolean whether the user cannot prompt it
---@field agent string
---@field title string
---@field cwd string
---@field state string
---@field since integer seconds since 1970
---@field is_timed boolean whether seconds matter
---@field question? integer|string its oldest question with a card
---@field questions integer
---@field queued integer
---@field hunks integer
---@field files integer
---@field cost? string

--- States whose duration is shown in seconds at first.
local TIMED = { asks = true, starting = true, running = true, cancelling = true }

local LISTS = { 'permissions', 'elicitations', 'questions' }

--- Return the time of the oldest question, and its id if it has a card.
---@param session acp.Session
---@return integer|nil since
---@return integer|string|nil id
local function oldest(session)
  local since, id
  for _, name in ipairs(LISTS) do
    local first = (session[name] or {})[1]
    if first then
      since = math.min(since or first.since or math.huge, first.since or math.huge)
      local has_card = not id and require('acp.base.signals').emit('question_card', first.id)
      id = has_card and first.id or id
    end
  end
  return since, id
end

---@param name string agent
---@param preset string|nil
local function agent_of(name, preset)
  local title = activity.agent(name)
  return preset and ('%s (%s)'):format(title, notify.one_line(preset)) or title
end

--- Return the word for the state of a session of this Neovim.
---@param session acp.Session
local function state_of(session, asks)
  if asks then return 'asks' end
  local agent = require('acp.base.state').get().agents[session.agent]
  local is_waiting = session.status == 'starting' or session.status == 'idle'
  return is_waiting and agent and agent.status == 'auth_required' and 'login' or session.status
end

---@param session acp.Session
---@return acp.OverviewSession
local function describe(n, session)
  local edits = session.edits or {}
  local questions = activity.question_count(session)
  local since, question = oldest(session)
  local state = state_of(session, questions > 0)
  return {
    key = 'own.' .. n,
    n = n,
    elsewhere = session.elsewhere ~= nil,
    child = session.parent ~= nil,
    is_closed_to_prompts = (session.parent or session.purpose) ~= nil,
    agent = agent_of(session.agent, session.preset),
    title = notify.one_line(session.title or session.topic or (session.queue or {})[1] or ''),
    cwd = session.cwd,
    state = state,
    since = questions > 0 and since or session.since or os.time(),
    is_timed = TIMED[state] or false,
    question = question,
    questions = questions,
    queued = #(session.queue or {}),
    hunks = activity.hunks(edits),
    files = #edits,
    cost = session.usage and activity.cost(session.usage.cost),
  }
end

--- Values of a session that its row shows. The state replaces lists, and does not change them.
local SHOWN =
  { 'agent', 'preset', 'purpose', 'title', 'topic', 'cwd', 'status', 'since', 'queue', 'more' }
vim.list_extend(SHOWN, { 'edits', 'usage', 'permissions', 'elicitations', 'questions' })

---@class acp.OverviewCache
---@field values table<string, any>
---@field agent string|nil status of its agent
---@field result acp.OverviewSession

local cache = {} ---@type table<integer, acp.OverviewCache> by session

--- Return a session of this Neovim: the same table as long as it has not changed.
---@param session acp.Session
---@return acp.OverviewSession
local function own_session(n, session)
  local agent = (require('acp.base.state').get().agents[session.agent] or {}).status
  local before = cache[n]
  local is_same = before ~= nil and before.agent == agent
  for _, name in ipairs(SHOWN) do
    is_same = is_same and before.values[name] == session[name]
  end
  if is_same then return before.result end
  local values = {}
  for _, name in ipairs(SHOWN) do
    values[name] = session[name]
  end
  if not before or before.values.status ~= session.status then checkouts.forget() end
  cache[n] = { values = values, agent = agent, result = describe(n, session) }
  return cache[n].result
end

local described_others = setmetatable({}, { __mode = 'k' })

---@param other acp.OtherSession
---@return acp.OverviewSession
local function describe_other(other)
  local state = other.questions > 0 and 'asks' or notify.one_line(other.status)
  return {
    key = other.key,
    n = other.n,
    pid = other.pid,
    agent = agent_of(other.agent, other.preset),
    title = notify.one_line(other.title),
    cwd = other.cwd,
    state = state,
    since = other.questions > 0 and other.asked or other.since,
    is_timed = TIMED[state] or false,
    questions = other.questions,
    queued = other.queued,
    hunks = other.hunks,
    files = other.files,
    cost = activity.cost(other.cost),
  }
end

--- Return a session of another Neovim: the same table as long as its file has not changed.
---@param other acp.OtherSession
---@return acp.OverviewSession
local function session_elsewhere(other)
  described_others[other] = described_others[other] or describe_other(other)
  return described_others[other]
end

--- Return whether a session of this Neovim is listed. A closed one must have pending edits, and a
--- subagent must be running.
---@param session acp.Session
---@param live table<string, true> keys of the sessions of other Neovims
local function is_listed(session, live)
  if not session.agent or not session.cwd then return false end
  if session.parent then return session.status == 'running' end
  if session.elsewhere and live[session.elsewhere] then return false end
  return session.status ~= 'closed' or #(session.edits or {}) > 0
end

--- Return the repositories of the global current directory and of the sessions of this Neovim.
---@param sessions acp.OverviewSession[]
---@return table<string, true>
local function workspaces(sessions)
  local repositories = { [checkouts.of(vim.fn.getcwd(-1, -1)).repository] = true }
  for _, session in ipairs(sessions) do
    repositories[checkouts.of(session.cwd).repository] = true
  end
  return repositories
end

--- Return all sessions: those of this Neovim by number, then those of others in the same
--- repositories.
---@return acp.OverviewSession[]
function M.all()
  local live, all = {}, {}
  local theirs = others.sessions()
  for _, other in ipairs(theirs) do
    live[other.key] = true
  end
  local sessions = require('acp.base.state').get().sessions
  for _, n in ipairs(require('acp.base.sorted_keys')(sessions)) do
    if is_listed(sessions[n], live) then all[#all + 1] = own_session(n, sessions[n]) end
  end
  local here = workspaces(all)
  for _, other in ipairs(theirs) do
    if here[checkouts.of(other.cwd).repository] then all[#all + 1] = session_elsewhere(other) end
  end
  return all
end

return M
