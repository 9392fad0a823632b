--- Recovery after the end of the host: return the user's texts to the composers, fire the events
--- that end permissions and turns, and pass the sessions to the next host.
local M = {}

local signals = require('acp.base.signals')

--- Record of a session for the next host. For a closed session, only the edits are needed.
---@class acp.SessionRecord
---@field n integer
---@field agent string
---@field cwd string
---@field lines string[] text of its chat
---@field id? string
---@field title? string
---@field topic? string
---@field preset? string
---@field mode? string
---@field options table<string, string|boolean>
---@field error? string
---@field cut? boolean whether a turn was running
---@field closed? boolean

---@class acp.RunningPrompt
---@field text string
---@field paths string[]
---@field ranges table[]

--- Prompt of the running turn, by session.
local under_way = {} ---@type table<integer, acp.RunningPrompt>
local runs = 0 -- number of hosts started so far
local died ---@type number|nil time at which the last host ended, in seconds since 1970
local cut = {} ---@type table<integer, boolean> sessions whose turn ended with the host

--- Frame operation: set the prompt of the running turn; without a text, no turn is running.
---@param text? string
---@param paths? string[]
---@param ranges? table[]
---@param delivery? integer number of the prompt
function M.set_running_prompt(n, text, paths, ranges, delivery)
  if type(delivery) == 'number' then signals.emit('prompt_sent', delivery) end
  under_way[n] = text and { text = text, paths = paths or {}, ranges = ranges or {} } or nil
end

--- Return the texts of a session to its composer: the prompt of the running turn first, then the
--- queued prompts. Sessions with a purpose have no composer.
local function return_to_composer(n, session)
  local queue = not session.purpose and session.queue or {}
  for i = #queue, 1, -1 do
    signals.emit('prompt_comes_back', n, queue[i])
  end
  local prompt = not session.purpose and under_way[n]
  if prompt then signals.emit('prompt_comes_back', n, prompt.text, prompt.paths, prompt.ranges) end
  under_way[n] = nil
  require('acp.base.state').set({ 'sessions', n, 'queue' }, {})
end

---@alias acp.NamedEvent { [1]: string, [2]: table } name, data

--- Return the events for permissions and turns that ended with the host.
---@return acp.NamedEvent[] events
local function end_events(n, session, message)
  local list = {}
  for _, permission in ipairs(session.permissions or {}) do
    local data = { session = n, id = permission.id, outcome = 'cancelled' }
    list[#list + 1] = { 'AcpPermissionDone', data }
  end
  if cut[n] then list[#list + 1] = { 'AcpTurnEnd', { session = n, error = message } } end
  return list
end

--- Handle the end of the host. Return unsent texts to the composers, mark everything in the state
--- as ended, stop the watches of buffers, and fire the events that end permissions and turns.
---@param message string reason
function M.on_host_exit(message)
  local seconds, rest = vim.uv.gettimeofday()
  died = seconds + rest / 1e6
  local state = require('acp.base.state')
  local events = {}
  for n, session in pairs(state.get().sessions) do
    cut[n] = session.status == 'running' or session.status == 'cancelling' or nil
    vim.list_extend(events, end_events(n, session, message))
    return_to_composer(n, session)
  end
  state.on_host_exit('failed', message)
  for _, name in ipairs({ 'acp.buffers.disk_changes', 'acp.buffers.watch' }) do
    if package.loaded[name] then package.loaded[name].on_host_exit() end
  end
  for _, event in ipairs(events) do
    require('acp.base.events').fire(event[1], event[2])
  end
end

--- Return the current values of a session's options, by id.
---@return table<string, string|boolean>
local function option_values(session)
  local values = vim.empty_dict()
  for _, option in ipairs(session.options or {}) do
    values[option.id] = option.currentValue
  end
  return values
end

---@return acp.SessionRecord
local function record(n, session)
  local bufnr = require('acp.ui.chats').bufnr(n)
  local loaded = bufnr and vim.api.nvim_buf_is_loaded(bufnr)
  return {
    n = n,
    agent = session.agent,
    cwd = session.cwd,
    lines = loaded and vim.api.nvim_buf_get_lines(bufnr, 0, -1, false) or {},
    id = session.id,
    title = session.title,
    topic = session.topic,
    preset = session.preset,
    mode = session.modes and session.modes.current,
    options = option_values(session),
    error = session.error,
    cut = cut[n],
    closed = session.status == 'closed' or session.purpose ~= nil or nil,
  }
end

---@class acp.EarlierHosts
---@field instance string
---@field run integer
---@field sessions acp.SessionRecord[]
---@field elsewhere table<string, integer> numbers of sessions of other Neovims, by key
---@field roots string[] open workspaces
---@field current? integer
---@field shown string[] paths of files with inline hunks
---@field remarks? acp.Remark[]
---@field notes? acp.Note[]
---@field died? number
---@field sent string path of the file in which the host records the prompts it has sent

--- Add the state of earlier hosts to the arguments for a new host.
---@param args { past: acp.EarlierHosts }
function M.add_past(args)
  runs = runs + 1
  local state = require('acp.base.state').get()
  local list, elsewhere = {}, vim.empty_dict()
  for n, session in pairs(state.sessions) do
    if session.elsewhere then
      elsewhere[session.elsewhere] = n
    elseif not session.parent and session.agent then
      list[#list + 1] = record(n, session)
    end
  end
  table.sort(list, function(a, b) return a.n < b.n end)
  cut = {}
  local workspaces = require('acp.base.workspaces')
  workspaces.watch()
  args.past = {
    instance = workspaces.instance,
    run = runs,
    sessions = list,
    elsewhere = elsewhere,
    roots = workspaces.roots(),
    current = state.current,
    died = died,
  }
  signals.emit('past', args.past)
end

return M
