--- Activity of a session in words, for the winbar of its chat and for statuslines.
local M = {}

local BUSY = { running = true, cancelling = true, starting = true }

---@class acp.Turn milliseconds
---@field from integer start of the turn
---@field waited integer total time of waiting for the user
---@field since? integer start of the current wait for the user
---@field took? integer the agent's time, set when the turn is over

local turns = {} ---@type table<integer, acp.Turn> latest turn of each session
local started = {} ---@type table<integer, integer> time at which a session began to start, ms

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

---@return string|nil such as `2 questions`
local function count_with_noun(count, one, many)
  return count > 0 and ('%d %s'):format(count, count == 1 and one or many) or nil
end

---@param session acp.Session
---@param lists string[]
local function pending(session, lists)
  local count, more = 0, session.more or {}
  for _, name in ipairs(lists) do
    count = count + #(session[name] or {}) + (more[name] or 0)
  end
  return count
end

local OF_AGENT = { 'permissions', 'elicitations' }
local ALL = { 'permissions', 'elicitations', 'questions' }

--- Return the number of pending questions of a session, including those that are not listed.
---@param session acp.Session
---@return integer
function M.question_count(session) return pending(session, ALL) end

--- Return whether the agent is waiting for the user's answer.
---@param session acp.Session
function M.is_waiting(session) return pending(session, OF_AGENT) > 0 end

--- Return whether the words of a session change with time.
---@param session acp.Session
function M.is_ticking(session) return BUSY[session.status] ~= nil and not M.is_waiting(session) end

--- Return the number of pending hunks, counting each file once.
---@param edits acp.Edit[]
---@return integer
function M.hunks(edits)
  local seen, count = {}, 0
  for _, edit in ipairs(edits) do
    if not seen[edit.path] then
      seen[edit.path] = true
      -- A deletion, a rename or a conflict without hunks is one thing to review.
      count = count + math.max(edit.hunks, 1)
    end
  end
  return count
end

--- Return the number of files that changed during a turn and that the agent has not named.
---@param edits acp.Edit[]
---@return integer
local function count_unnamed(edits)
  local seen = {}
  for _, edit in ipairs(edits) do
    if edit.named == false then seen[edit.path] = true end
  end
  return vim.tbl_count(seen)
end

--- Return a cost: `$0.12`, `0.12 EUR`.
---@param cost { amount: number, currency?: string }|nil
---@return string|nil
function M.cost(cost)
  if not cost or not cost.amount then return nil end
  if cost.currency == 'USD' then return ('$%.2f'):format(cost.amount) end
  return ('%.2f %s'):format(cost.amount, cost.currency or '')
end

--- Format a number of tokens: 12345 -> '12k'.
---@param count number
---@return string
function M.tokens(count)
  if count >= 1e6 then return ('%.1fM'):format(count / 1e6) end
  return count >= 1000 and ('%dk'):format(math.floor(count / 1000 + 0.5)) or tostring(count)
end

--- Return the agent's title, as the chat shows it.
---@param name string name in the configuration
---@return string
function M.agent(name)
  local info = (require('acp.base.state').get().agents[name] or {}).info or {}
  local entry = require('acp.config').get().agents[name] or {}
  local title = info.title or info.name or entry.title
  return require('acp.base.notify').one_line(title or (name:sub(1, 1):upper() .. name:sub(2)))
end

--- Return the name of the current mode.
---@param modes { current: string, available: acp.Mode[] }|nil
---@return string|nil
function M.mode(modes)
  local available = vim.iter(modes and modes.available or {})
  local current = available:find(function(mode) return mode.id == modes.current end)
  return current and current.name
end

--- Measure the wait for the user, which does not count as the agent's time.
---@param turn acp.Turn
local function measure(turn, waits)
  local now = vim.uv.now()
  if waits then
    turn.since = turn.since or now
  elseif turn.since then
    turn.waited, turn.since = turn.waited + now - turn.since, nil
  end
end

---@param turn acp.Turn
local function elapsed(turn)
  return turn.took or (turn.since or vim.uv.now()) - turn.from - turn.waited
end

---@param session acp.Session
local function status(n, session)
  local word, turn = session.status, turns[n]
  local agent = require('acp.base.state').get().agents[session.agent]
  local is_at_work = word == 'running' or word == 'cancelling'
  if agent and agent.status == 'auth_required' and not is_at_work then
    return 'waits for :Acp login'
  end
  started[n] = word == 'starting' and (started[n] or vim.uv.now()) or nil
  if started[n] then return word .. ' ' .. time(vim.uv.now() - started[n]) end
  if M.is_waiting(session) then return 'waiting for you' end
  if BUSY[word] then
    word = word == 'running' and session.retrying or word
    return turn and not turn.took and word .. ' ' .. time(elapsed(turn)) or word
  end
  local reason = session.error and 'error' or session.stop_reason
  if word == 'idle' and reason and turn and turn.took then
    local duration = time(elapsed(turn))
    if reason == 'end_turn' then return 'done in ' .. duration end
    return ('%s after %s'):format(reason:gsub('_', ' '), duration)
  end
  return word
end

---@class acp.Activity
---@field agent string
---@field status string
---@field waits boolean whether `status` says that the agent is waiting for the user
---@field counts string[] counts of other waiting items, the most urgent first

--- Return the activity of session `n`.
---@param session acp.Session
---@param edits acp.Edit[]
---@return acp.Activity
function M.of(n, session, edits)
  local waits, asked, counts = M.is_waiting(session), M.question_count(session), {}
  local has_more = not waits or asked > 1
  counts[#counts + 1] = has_more and count_with_noun(asked, 'question', 'questions') or nil
  counts[#counts + 1] = count_with_noun(M.hunks(edits), 'to review', 'to review')
  counts[#counts + 1] = count_with_noun(count_unnamed(edits), 'not named', 'not named')
  counts[#counts + 1] = count_with_noun(#(session.queue or {}), 'queued', 'queued')
  return {
    agent = M.agent(session.agent),
    status = status(n, session),
    waits = waits,
    counts = counts,
  }
end

--- Measure the turns from now on. Idempotent.
M.watch = require('acp.base.once')(function()
  local on, state = require('acp.base.autocmds').group('acp.activity'), require('acp.base.state')
  on('User', function(args)
    local n = args.data.session
    if args.match == 'AcpTurnStart' then
      turns[n] = { from = vim.uv.now(), waited = 0 }
    elseif args.match == 'AcpTurnEnd' and turns[n] and not turns[n].took then
      measure(turns[n], false)
      turns[n].took = elapsed(turns[n])
    end
  end, { pattern = { 'AcpTurnStart', 'AcpTurnEnd' } })
  on('User', function()
    for n, turn in pairs(turns) do
      local session = not turn.took and state.get().sessions[n]
      if session then measure(turn, M.is_waiting(session)) end
    end
  end, { pattern = 'AcpState' })
end)

return M
