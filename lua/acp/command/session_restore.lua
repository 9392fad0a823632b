--- The host is gone, its sessions are not: the user's words come back, whoever waits for the end of
--- something hears of it, and the next host takes the sessions up where they stand.
local M = {}

---@class acp.Left what the next host must know of a session, of a closed one its edits only
---@field n integer
---@field agent string
---@field cwd string
---@field lines string[] of its chat
---@field id? string
---@field title? string
---@field mode? string
---@field options table<string, string|boolean>
---@field error? string
---@field cut? boolean a turn ran
---@field closed? boolean

---@class acp.UnderWay
---@field text string
---@field paths string[]
---@field ranges table[]

--- The prompt that is being answered, by session.
local under_way = {} ---@type table<integer, acp.UnderWay>
local runs = 0 -- hosts that were started
local died ---@type number|nil when the last host did, in seconds since 1970
local cut = {} ---@type table<integer, boolean> sessions whose turn the host did not outlive

--- Frame operation: this prompt is being answered; without a text none is.
---@param text? string
---@param paths? string[]
---@param ranges? table[]
---@param delivery? integer number of the prompt
function M.under_way(n, text, paths, ranges, delivery)
  if type(delivery) == 'number' then require('acp.ui.composer.delivery').sent(delivery) end
  under_way[n] = text and { text = text, paths = paths or {}, ranges = ranges or {} } or nil
end

--- The user's words go back to where they wrote them: first what was being answered, then what
--- waited.
local function give_back(n, session)
  local give = require('acp.ui.composer').give_back
  for i = #(session.queue or {}), 1, -1 do
    give(n, session.queue[i])
  end
  local prompt = under_way[n]
  if prompt then give(n, prompt.text, prompt.paths, prompt.ranges) end
  under_way[n] = nil
  require('acp.base.state').set({ 'sessions', n, 'queue' }, {})
end

--- Events for permissions and turns that ended with the host.
---@return any[][] events
local function ends(n, session, message)
  local list = {}
  for _, one in ipairs(session.permissions or {}) do
    local data = { session = n, id = one.id, outcome = 'cancelled' }
    list[#list + 1] = { 'AcpPermissionDone', data }
  end
  if cut[n] then list[#list + 1] = { 'AcpTurnEnd', { session = n, error = message } } end
  return list
end

--- The host has ended, and what ran in it.
---@param message string why
function M.host_gone(message)
  local seconds, rest = vim.uv.gettimeofday()
  died = seconds + rest / 1e6
  local state = require('acp.base.state')
  local events = {}
  require('acp.ui.composer.delivery').host_gone()
  for n, session in pairs(state.get().sessions) do
    cut[n] = session.status == 'running' or session.status == 'cancelling' or nil
    vim.list_extend(events, ends(n, session, message))
    give_back(n, session)
  end
  state.host_gone('failed', message)
  for _, name in ipairs({ 'acp.buffers.disk_changes', 'acp.buffers.watch' }) do
    if package.loaded[name] then package.loaded[name].host_gone() end
  end
  require('acp.ui.question').clear()
  require('acp.ui.composer.history').host_gone()
  for _, one in ipairs(events) do
    require('acp.base.events').fire(one[1], one[2])
  end
end

--- Values in force of the options of a session, by id.
---@return table<string, string|boolean>
local function chosen(session)
  local values = vim.empty_dict()
  for _, option in ipairs(session.options or {}) do
    values[option.id] = option.currentValue
  end
  return values
end

---@return acp.Left
local function record(n, session)
  local bufnr = require('acp.ui.chat.buffers').bufnr(n)
  local loaded = bufnr and vim.api.nvim_buf_is_loaded(bufnr)
  return {
    n = n,
    agent = session.agent,
    cwd = session.cwd,
    lines = loaded and vim.api.nvim_buf_get_lines(bufnr, 0, -1, false) or {},
    id = session.id,
    title = session.title,
    mode = session.modes and session.modes.current,
    options = chosen(session),
    error = session.error,
    cut = cut[n],
    closed = session.status == 'closed' or nil,
  }
end

--- Whether there was a host whose sessions the next one takes up.
function M.any() return next(require('acp.base.state').get().sessions) ~= nil end

---@class acp.Before
---@field instance string
---@field run integer
---@field sessions acp.Left[]
---@field elsewhere table<string, integer> our numbers of sessions of other Neovims, by key
---@field roots string[] workspaces that are open
---@field current? integer
---@field shown string[]
---@field remarks? acp.Remark[]
---@field notes? acp.Note[]
---@field died? number
---@field sent string where the host notes which prompts it has sent

--- The state of earlier hosts, for the one that starts now.
---@return acp.Before
function M.left()
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
  local inline = package.loaded['acp.review.inline']
  local comment = package.loaded['acp.review.comment']
  return {
    instance = workspaces.instance,
    run = runs,
    sessions = list,
    elsewhere = elsewhere,
    roots = workspaces.roots(),
    current = state.current,
    shown = inline and inline.paths() or {},
    remarks = comment and comment.remarks(),
    notes = comment and comment.notes(),
    died = died,
    sent = require('acp.base.draft_file').sent_path(),
  }
end

return M
