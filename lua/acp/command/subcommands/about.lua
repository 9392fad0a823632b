--- Descriptions of the subcommands in groups, the most used first, for the menu of a bare `:Acp`.
local M = {}

---@class acp.MenuEntry
---@field [1] string subcommand
---@field [2] string description
---@field group string

---@type { name: string, [integer]: string[] }[]
M.groups = {
  {
    name = 'Talk',
    { 'prompt', 'send a prompt, or write one' },
    { 'cancel', 'cancel the turn' },
    { 'send', 'send now, before all that waits' },
    { 'chat', 'show or hide the chat' },
    { 'queue', 'waiting prompts' },
    { 'attach', 'files to send with the next prompt' },
    { 'plan', "show or hide the agent's plan" },
    { 'terminals', "the agent's terminals" },
    { 'follow', 'follow the agent in this window, or stop' },
  },
  {
    name = 'Decide',
    { 'allow', 'allow the oldest permission once' },
    { 'deny', 'deny the oldest permission once' },
    { 'permissions', 'pending permissions and questions' },
  },
  {
    name = 'Review',
    { 'review', 'pending edits side by side' },
    { 'accept', 'keep the hunk under the cursor; file, all' },
    { 'reject', 'undo the hunk under the cursor; file, all' },
    { 'unreject', 'undo the last reject' },
    { 'edits', 'list pending hunks in the quickfix list' },
    { 'blame', 'which prompt wrote the line under the cursor' },
    { 'comment', 'comment on the hunk under the cursor' },
    { 'checkpoints', 'the files before each prompt, and what changed since' },
    { 'restore', 'restore what agents changed since a prompt' },
    { 'rewind', 'go back to before a prompt: files and conversation' },
  },
  {
    name = 'Sessions',
    { 'new', 'a new session' },
    { 'sessions', 'open and stored sessions' },
    { 'agent', 'the agent for new sessions' },
    { 'mode', 'mode of the session' },
    { 'model', 'model of the session' },
    { 'option', 'other options of the session' },
    { 'history', 'search what was said in all sessions' },
    { 'export', 'the chat as Markdown' },
    { 'restart', 'restart the agent and reopen its sessions' },
    { 'stop', 'stop the agent' },
    { 'login', 'log in to the agent' },
    { 'logout', 'log out' },
  },
  {
    name = 'Help',
    { 'tutor', 'a three-minute tour' },
    { 'info', 'agents, sessions, and what went wrong' },
    { 'log', 'the traffic with an agent' },
    { 'install', 'build or repair the Python environment' },
  },
}

--- Return the subcommands that apply in the present state, the most urgent first.
---@return string[]
local function urgent()
  local state, names = require('acp.base.state').get(), {}
  local asked, running, waits = #state.elicitations > 0, false, false
  for _, session in pairs(state.sessions) do
    for _, list in ipairs({ 'permissions', 'elicitations', 'questions' }) do
      asked = asked or #(session[list] or {}) > 0
    end
    running = running or session.status == 'running'
    waits = waits or session.status ~= 'running' and #(session.queue or {}) > 0
  end
  if asked then vim.list_extend(names, { 'allow', 'deny', 'permissions' }) end
  if #require('acp.base.state').edits() > 0 then
    vim.list_extend(names, { 'review', 'accept', 'reject' })
  end
  if running then names[#names + 1] = 'cancel' end
  if waits then names[#names + 1] = 'queue' end
  return names
end

--- Return all subcommands: those that apply now as a group of their own, then the others.
---@return acp.MenuEntry[]
function M.menu()
  local first, rest = {}, {}
  local ranks = {} ---@type table<string, integer>
  for i, name in ipairs(urgent()) do
    ranks[name] = i
  end
  for _, group in ipairs(M.groups) do
    for _, entry in ipairs(group) do
      local rank = ranks[entry[1]]
      local item = { entry[1], entry[2], group = rank and 'Now' or group.name }
      if rank then
        first[rank] = item
      else
        rest[#rest + 1] = item
      end
    end
  end
  return vim.list_extend(first, rest)
end

return M
