--- How the agent of a first prompt is started, for a host that starts it before all else.
local M = {}

--- A process takes no longer variable than 128 KiB (Linux).
local MOST = 100000

---@return string line `acp_nvim/agent/child/early.py` reads them
local function line(text) return (text:gsub('%%', '%%25'):gsub('\n', '%%0A')) end

--- The prompt, or the opened composer, that waits for the host.
---@param verbs { [1]: string, [2]: table|nil }[]
---@return table? args of its verb
local function first(verbs)
  for _, verb in ipairs(verbs) do
    if verb[1] == 'prompt' or verb[1] == 'begin' then return verb[2] end
  end
end

--- The words, directory and environment of an agent, where the options alone say it.
---@return acp.AgentConfig? agent
local function agent_of(args)
  local options = require('acp.config').get()
  local name = args.agent and args.agent ~= '' and args.agent or options.agent
  local agent = options.agents[name]
  return agent and agent.command and #agent.command > 0 and agent or nil
end

--- Environment of the host that names the agent which these verbs will start; nil where that is not
--- sure, as after the end of a host, whose sessions say which agents go on.
---@param verbs { [1]: string, [2]: table|nil }[]
---@return table<string, string>?
function M.env(verbs)
  local args = first(verbs)
  local agent = args and agent_of(args)
  local fresh = next(require('acp.base.state').get().sessions) == nil
  local cwd = agent and (agent.cwd or args.cwd)
  if not agent or not fresh or not cwd or cwd == '' then return nil end
  local lines = { line(cwd), tostring(#agent.command) }
  for _, word in ipairs(agent.command) do
    lines[#lines + 1] = line(word)
  end
  for name, value in pairs(agent.env or {}) do
    lines[#lines + 1] = line(name .. '=' .. tostring(value))
  end
  local text = table.concat(lines, '\n')
  local whole = #text < MOST and not text:find('\0', 1, true)
  return whole and { ACP_NVIM_EARLY_AGENT = text } or nil
end

return M
