--- State of the plugin in Lua, as read by `require('acp').state()`, the statusline and completion.
--- Frames from the host keep it current; nothing here queries the host.
local M = {}

---@class acp.State
local state = { host = 'stopped', agents = {}, sessions = {}, elicitations = {} }

local version = 0
-- Number of old tool calls removed from the list, by session.
local forgotten = {} ---@type table<integer, integer>
local announced_at = 0
local GAP_MS = 30
local timer

--- Return the live table; callers must not change it.
---@return acp.State
function M.get() return state end

--- Return a copy for users.
---@return acp.State
function M.snapshot() return vim.deepcopy(state) end

---@param n? integer session number; nil means the current session
---@return table? session
function M.session(n) return state.sessions[n or state.current] end

--- Return the pending edits of all sessions. Sessions may share a file.
---@return acp.Edit[]
function M.edits()
  local edits = {}
  for _, session in pairs(state.sessions) do
    vim.list_extend(edits, session.edits or {})
  end
  return edits
end

--- Return the number of the current session, if any.
---@return integer?
function M.current() return state.current end

--- Return the number that the next session will get.
---@return integer
function M.next()
  local highest = 0
  for n in pairs(state.sessions) do
    highest = math.max(highest, n)
  end
  return highest + 1
end

--- Set `state[path...] = value`. `vim.NIL` removes the key.
---@param path (string|integer)[]
---@param value any
function M.set(path, value)
  local node = state
  for i = 1, #path - 1 do
    local key = path[i]
    if node[key] == nil then node[key] = {} end
    node = node[key]
  end
  if value == vim.NIL then value = nil end
  node[path[#path]] = value
  version = version + 1
end

--- Set the buffer that `key` of session `n` names, until the buffer is wiped out.
---@param key 'chat_bufnr'|'composer_bufnr'
function M.set_buffer(n, key, bufnr)
  M.set({ 'sessions', n, key }, bufnr)
  local on = require('acp.base.autocmds').group(('acp.state.%s.%d'):format(key, n))
  on('BufWipeout', function()
    if (state.sessions[n] or {})[key] == bufnr then
      M.set({ 'sessions', n, key }, nil)
      vim.schedule(M.announce_change) -- the buffer still exists during BufWipeout
    end
  end, { buffer = bufnr })
end

--- Remove the oldest tool calls from the list of a session.
---@param first integer total number of removed calls afterwards
local function forget(n, list, first)
  local removed = #list == 0 and first or forgotten[n] or 0
  forgotten[n] = first
  for i = 1, first > removed and #list or 0 do
    list[i] = list[i + first - removed]
  end
end

--- Set some tool calls of a session, whose list exists already.
---@param calls any[] position, id, title, kind, status and locations (false if none) of each
---@param first integer number of the oldest calls that are no longer in the list
function M.set_calls(n, calls, first)
  local list = state.sessions[n].tool_calls
  forget(n, list, first)
  for i = 1, #calls, 6 do
    list[calls[i] - first] = {
      id = calls[i + 1],
      title = calls[i + 2],
      kind = calls[i + 3],
      status = calls[i + 4],
      locations = calls[i + 5] or {},
    }
  end
  version = version + 1
end

--- Return the version of the state; it grows with each change.
---@return integer
function M.version() return version end

--- Return milliseconds. Unlike `vim.uv.now()`, the value is not cached by the event loop.
local function now() return vim.uv.hrtime() / 1e6 end

local function announce()
  announced_at = now()
  vim.api.nvim_exec_autocmds('User', { pattern = 'AcpState', data = {}, modeline = false })
  announced_at = now() -- handlers took time; count the gap from their end
end

--- Fire `AcpState` at most once every 30 ms. The last change is always announced.
function M.announce_change()
  if timer then return end
  local wait = announced_at + GAP_MS - now()
  if wait <= 0 then return announce() end
  timer = vim.defer_fn(function()
    timer = nil
    M.announce_change() -- a timer may fire early
  end, math.ceil(wait))
end

--- End the tool calls and terminals of a session.
---@param session acp.Session
local function end_calls(session)
  for _, call in ipairs(session.tool_calls or {}) do
    if call.status == 'pending' or call.status == 'in_progress' then call.status = 'failed' end
  end
  for _, terminal in ipairs(session.terminals or {}) do
    terminal.running = false
  end
end

--- Mark everything that ran in the host as ended. Edits and checkpoints survive in the journal.
---@param status 'stopped'|'failed'
---@param message? string
function M.on_host_exit(status, message)
  state.host = status
  for _, agent in pairs(state.agents) do
    agent.status, agent.pid = 'exited', nil
  end
  for _, session in pairs(state.sessions) do
    end_calls(session)
    if session.status ~= 'closed' then
      session.status, session.error = 'failed', message
      session.permissions, session.elicitations, session.questions = {}, {}, {}
    end
  end
  state.elicitations = {}
  version = version + 1
  M.announce_change()
end

--- Return the number of the session whose composer to use by default: the current one, or the next.
---@return integer
function M.default_session() return state.current or M.next() end

return M
