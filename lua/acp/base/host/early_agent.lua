--- Start parameters of the agent for the first prompt. A new host reads them from its environment
--- so that it can start the agent before anything else.
local M = {}

--- Maximum size in bytes. On Linux an environment variable may have up to 128 KiB.
local MAX_BYTES = 100000

--- Escape a line for `acp_nvim/agent/child/early.py`.
---@return string
local function escape(text) return (text:gsub('%%', '%%25'):gsub('\n', '%%0A')) end

--- Verbs that start an agent.
local STARTS = { prompt = true, begin = true, edit = true }

--- Return the arguments of the first verb that starts an agent.
---@param verbs { [1]: string, [2]: table|nil }[]
---@return table?
local function first_args(verbs)
  local verb = vim.iter(verbs):find(function(queued) return STARTS[queued[1]] end)
  return verb and verb[2]
end

--- Return the agent that these arguments name, if its command is in the options.
---@return acp.AgentConfig? agent
local function agent_of(args)
  local options = require('acp.config').get()
  local name = args.agent and args.agent ~= '' and args.agent or options.agent
  local agent = options.agents[name]
  local is_here = agent and agent.command and #agent.command > 0 and not agent.via
  return is_here and agent or nil
end

--- Return environment variables that name the agent that these verbs will start. Return nil if the
--- agent is not certain. For example, after a restart of the host, the open sessions determine it.
---@param verbs { [1]: string, [2]: table|nil }[]
---@return table<string, string>?
function M.env(verbs)
  local args = first_args(verbs)
  local agent = args and agent_of(args)
  local is_fresh = next(require('acp.base.state').get().sessions) == nil
  local cwd = agent and (agent.cwd or args.cwd)
  if not agent or not is_fresh or not cwd or cwd == '' then return nil end
  local lines = { escape(cwd), tostring(#agent.command) }
  for _, word in ipairs(agent.command) do
    lines[#lines + 1] = escape(word)
  end
  for name, value in pairs(agent.env or {}) do
    if tostring(value):find('$ENV{', 1, true) then return nil end -- the host expands it
    lines[#lines + 1] = escape(name .. '=' .. tostring(value))
  end
  local text = table.concat(lines, '\n')
  local is_whole = #text < MAX_BYTES and not text:find('\0', 1, true)
  return is_whole and { ACP_NVIM_EARLY_AGENT = text } or nil
end

return M
