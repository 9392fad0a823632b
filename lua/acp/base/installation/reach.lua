--- Attempts to reach the agents that have a `via` or a `url`, for `:checkhealth acp`.
local M = {}

--- Longest wait for all of them.
M.patience_ms = 20000

---@return boolean
local function has_remote_agents()
  local agents = vim.iter(require('acp.config').get().agents)
  return agents:any(function(_, agent) return agent.via or agent.url end)
end

--- Return the options, with the words of functions in option `via`.
---@return table
---@return table<string, string> problems
local function options()
  local args, problems = require('acp.config').for_host(), {}
  local kept = {}
  for name, agent in pairs(args.agents) do
    if agent.via == true then
      local ok, words = pcall(require('acp.base.host.via_words').words, name)
      if ok then
        agent.via = words
      else
        problems[name], agent = tostring(words), nil
      end
    end
    if agent and (agent.via or agent.url) then kept[name] = agent end
  end
  return { agents = kept, stdpath = args.stdpath }, problems
end

--- Run the program that tries to reach the agents. Return its result for each agent, or a problem.
---@param options_of_agents table
---@return table<string, { ok: boolean, text: string }>?
---@return string? problem
local function run_program(options_of_agents)
  local python = require('acp.base.host.python')
  -- With -P, Python imports nothing from the current directory.
  local argv = python.argv((python.find()), '-P', '-m', 'acp_nvim.features.agents.reach')
  local env = { PYTHONPATH = python.root() }
  local opts =
    { text = true, stdin = vim.json.encode(options_of_agents), cwd = vim.fn.getcwd(), env = env }
  local ok, job = pcall(vim.system, argv, opts)
  if not ok then return nil, tostring(job) end
  local result = job:wait(M.patience_ms)
  local good, outcomes = pcall(vim.json.decode, result and result.stdout or '')
  if good then return outcomes end
  local lines = vim.split(vim.trim(result and result.stderr or ''), '\n')
  return nil, lines[#lines]
end

--- Try each agent and report the outcome.
---@param health table functions as in `vim.health`
function M.run(health)
  if not has_remote_agents() then return end
  health.start('acp: agents elsewhere')
  local remote, problems = options()
  for name, problem in pairs(problems) do
    health.warn(('%s: %s'):format(name, problem))
  end
  if not next(remote.agents) then return end
  local outcomes, problem = run_program(remote)
  if not outcomes then
    health.error('They cannot be tried: ' .. problem)
    return
  end
  for _, name in ipairs(require('acp.base.sorted_keys')(outcomes)) do
    local program = outcomes[name]
    health[program.ok and 'ok' or 'warn'](('%s: %s'):format(name, program.text))
  end
end

return M
