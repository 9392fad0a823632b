--- The Lua-side snapshot: what `require('acp').state()`, the statusline and completion read.
--- Frames of the host keep it current; nothing here ever asks the host.
local M = {}

---@class acp.State
local state = { host = 'stopped', agents = {}, sessions = {}, elicitations = {} }

local version = 0
-- Tool calls that are out of the list, by session.
local forgotten = {} ---@type table<integer, integer>
local copy, copied_version
local announced_at = 0
local GAP_MS = 30
local timer

--- The live table; callers must not change it.
---@return acp.State
function M.get() return state end

--- A copy for users, made once per change.
---@return acp.State
function M.snapshot()
  if copied_version ~= version then
    copy, copied_version = vim.deepcopy(state), version
  end
  return vim.deepcopy(copy)
end

---@param n? integer our number; nil means the current session
---@return table? session
function M.session(n) return state.sessions[n or state.current] end

--- Pending edits of all sessions; these may share a file.
---@return acp.Edit[]
function M.edits()
  local found = {}
  for _, session in pairs(state.sessions) do
    vim.list_extend(found, session.edits or {})
  end
  return found
end

--- Number of the current session, nil when there is none.
---@return integer?
function M.current() return state.current end

--- The number that the next session will get.
---@return integer
function M.next()
  local highest = 0
  for n in pairs(state.sessions) do
    highest = math.max(highest, n)
  end
  return highest + 1
end

--- Set `state[path...] = value`; `vim.NIL` makes it absent.
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

--- The buffer of session `n` that `key` names, for as long as it is there.
---@param key 'chat_bufnr'|'composer_bufnr'
function M.set_buffer(n, key, bufnr)
  M.set({ 'sessions', n, key }, bufnr)
  local on = require('acp.base.autocmds').group(('acp.state.%s.%d'):format(key, n))
  on('BufWipeout', function()
    if (state.sessions[n] or {})[key] == bufnr then
      M.set({ 'sessions', n, key }, nil)
      vim.schedule(M.changed) -- it is still there
    end
  end, { buffer = bufnr })
end

--- Take the oldest tool calls out of the list of a session.
---@param first integer how many are to be out
local function forget(n, list, first)
  local out = #list == 0 and first or forgotten[n] or 0
  forgotten[n] = first
  for i = 1, first > out and #list or 0 do
    list[i] = list[i + first - out]
  end
end

--- Set some tool calls of a session; the list is there by then.
---@param calls any[] position, id, title, kind, status and locations (false: none) of each
---@param first integer how many of the oldest are no longer in the list
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

--- Version of the snapshot; it grows with each change.
---@return integer
function M.version() return version end

--- Milliseconds; unlike `vim.uv.now()` not those at which the event loop last looked.
local function now() return vim.uv.hrtime() / 1e6 end

local function announce()
  announced_at = now()
  vim.api.nvim_exec_autocmds('User', { pattern = 'AcpState', data = {}, modeline = false })
  announced_at = now() -- from when all have heard it, so that no two come nearer than that
end

--- Fire `AcpState`, at most once in 30 ms; the last change is always announced.
function M.changed()
  if timer then return end
  local wait = announced_at + GAP_MS - now()
  if wait <= 0 then return announce() end
  timer = vim.defer_fn(function()
    timer = nil
    M.changed() -- a timer may fire early
  end, math.ceil(wait))
end

--- End the tool calls and terminals of a session.
---@param session acp.Session
local function cut(session)
  for _, call in ipairs(session.tool_calls or {}) do
    if call.status == 'pending' or call.status == 'in_progress' then call.status = 'failed' end
  end
  for _, terminal in ipairs(session.terminals or {}) do
    terminal.running = false
  end
end

--- The host is gone: what ran in it did not survive. Edits and checkpoints do, in the journal.
---@param status 'stopped'|'failed'
---@param message? string
function M.host_gone(status, message)
  state.host = status
  for _, agent in pairs(state.agents) do
    agent.status, agent.pid = 'exited', nil
  end
  for _, session in pairs(state.sessions) do
    cut(session)
    if session.status ~= 'closed' then
      session.status, session.error = 'failed', message
      session.permissions, session.elicitations, session.questions = {}, {}, {}
    end
  end
  state.elicitations = {}
  version = version + 1
  M.changed()
end

--- Number of the session whose composer is meant when none is named: the current one, or the
--- next.
---@return integer
function M.meant() return state.current or M.next() end

return M
