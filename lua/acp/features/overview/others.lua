--- Sessions of other Neovims: each has a file below `stdpath('state')`, which its host writes
--- (`acp_nvim/features/overview/shared_sessions.py`).
local M = {}

local uv = vim.uv

---@class acp.OtherSession
---@field key string name in all Neovims, as in `elsewhere` of `state()`
---@field pid integer process of its Neovim
---@field n integer number there
---@field agent string
---@field preset? string
---@field title string
---@field cwd string
---@field status string
---@field since integer seconds since 1970
---@field questions integer
---@field asked integer seconds since 1970
---@field queued integer
---@field hunks integer
---@field files integer
---@field cost? { amount: number, currency?: string }

---@class acp.OtherNeovim
---@field path string
---@field host integer process of its host
---@field pid integer
---@field sessions acp.OtherSession[]

local PRIVATE = tonumber('700', 8)

local neovims = {} ---@type acp.OtherNeovim[]
local watch ---@type uv.uv_fs_event_t|nil

local function directory() return vim.fn.stdpath('state') .. '/acp/neovims' end

--- Return the machine and the process of a Neovim from its name (`acp.base.workspaces`).
---@param instance string
---@return string|nil machine
---@return integer|nil pid
local function parts(instance)
  local machine, pid = instance:match('^%d+%-%d+%-(.+)%-(%d+)$')
  return machine, tonumber(pid)
end

---@param pid integer
local function is_alive(pid)
  local result, _, code = uv.kill(pid, 0)
  return result == 0 or code == 'EPERM'
end

--- Return the sessions of a decoded file, without those that lack a value.
---@return acp.OtherSession[]
local function sessions_of(file, pid)
  local sessions = {}
  for _, session in ipairs(type(file.sessions) == 'table' and file.sessions or {}) do
    local is_whole = type(session.n) == 'number'
      and type(session.agent) == 'string'
      and type(session.cwd) == 'string'
      and type(session.status) == 'string'
      and type(session.since) == 'number'
    if is_whole then
      session.key, session.pid = ('%s.%d'):format(file.instance, session.n), pid
      for _, name in ipairs({ 'questions', 'asked', 'queued', 'hunks', 'files' }) do
        session[name] = tonumber(session[name]) or 0
      end
      session.title = tostring(session.title or '')
      session.preset = type(session.preset) == 'string' and session.preset or nil
      local has_cost = type(session.cost) == 'table' and type(session.cost.amount) == 'number'
      session.cost = has_cost and session.cost or nil
      sessions[#sessions + 1] = session
    end
  end
  return sessions
end

--- Read the file of a Neovim. Return nil if it is from another machine or not readable.
---@return acp.OtherNeovim|nil
local function read(path)
  local instance = vim.fs.basename(path):gsub('%.json$', '')
  local machine, pid = parts(instance)
  if not pid or machine ~= parts(require('acp.base.workspaces').instance) then return nil end
  local text = require('acp.base.read_file')(path)
  local options = { luanil = { object = true, array = true } }
  local ok, file = pcall(vim.json.decode, text or '', options)
  if not ok or type(file) ~= 'table' or type(file.host) ~= 'number' then return nil end
  if file.instance ~= instance then return nil end
  return { path = path, host = file.host, pid = pid, sessions = sessions_of(file, pid) }
end

--- Read all files again.
function M.read()
  neovims = {}
  local own = require('acp.base.workspaces').instance .. '.json'
  for name, kind in vim.fs.dir(directory()) do
    if kind == 'file' and name ~= own and name:match('%.json$') then
      neovims[#neovims + 1] = read(directory() .. '/' .. name)
    end
  end
end

---@param neovim acp.OtherNeovim
local function is_running(neovim) return is_alive(neovim.host) and is_alive(neovim.pid) end

--- Return the sessions of running Neovims. Remove the files of those that have ended.
---@return acp.OtherSession[]
function M.sessions()
  local sessions, running = {}, {}
  for _, known in ipairs(neovims) do
    -- A new host of that Neovim may have replaced the file.
    local instance = is_running(known) and known or read(known.path)
    if instance and is_running(instance) then
      running[#running + 1] = instance
      vim.list_extend(sessions, instance.sessions)
    else
      uv.fs_unlink(known.path)
    end
  end
  neovims = running
  return sessions
end

--- Watch the files, and call back after a change.
---@param on_change fun()
function M.watch(on_change)
  if watch then return end
  -- Without the folder, which may be on a read-only disk, no Neovim writes a file there.
  local exists = pcall(vim.fn.mkdir, directory(), 'p', PRIVATE)
  watch = exists and uv.new_fs_event() or nil
  if not watch then return end
  local function changed(_, name)
    if not name or name:match('%.json$') then on_change() end
  end
  watch:start(directory(), {}, vim.schedule_wrap(changed))
end

function M.stop()
  if watch then
    watch:stop()
    watch:close()
  end
  watch = nil
end

return M
