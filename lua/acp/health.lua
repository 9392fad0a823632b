--- `:checkhealth acp`: what is ready, what is not, and what to do about it.
local M = {}

local health = vim.health

local PROBE = [[
import importlib.metadata as m, json, sys
def version(name):
    try:
        return m.version(name)
    except m.PackageNotFoundError:
        return None
names = ["pynvim", "msgspec", "anyio", "unidiff"]
print(json.dumps({"python": sys.version.split()[0], **{n: version(n) for n in names}}))
]]

local function neovim()
  health.start('acp: Neovim')
  local version = tostring(vim.version())
  if vim.fn.has('nvim-0.10') == 1 then
    health.ok('Neovim ' .. version)
  else
    health.error('Neovim ' .. version .. ' is older than 0.10')
  end
end

--- Versions as the interpreter itself sees them.
---@param python string
---@return table|nil versions
---@return string|nil problem
local function probe(python)
  local ok, job = pcall(vim.system, { python, '-c', PROBE }, { text = true })
  if not ok then
    return nil, tostring(job)
  end
  local result = job:wait(10000)
  local good, versions = pcall(vim.json.decode, result.stdout or '')
  if result.code ~= 0 or not good then
    return nil, vim.trim(result.stderr or '')
  end
  return versions
end

---@param path string
---@return string
local function source(path)
  local host = require('acp.host')
  if require('acp.config').get().python then
    return 'option `python`'
  elseif vim.startswith(path, host.root() .. '/.venv') then
    return "the repository's .venv"
  elseif vim.g.python3_host_prog then
    return 'g:python3_host_prog'
  end
  return 'python3 on PATH'
end

local function python()
  health.start('acp: Python')
  local path = require('acp.host').python()
  local advice = { 'run :Acp install, or set option `python`' }
  if vim.fn.executable(path) == 0 then
    health.error(('%s (%s) cannot be run'):format(path, source(path)), advice)
    return
  end
  local versions, problem = probe(path)
  if not versions then
    health.error(('%s does not answer: %s'):format(path, problem), advice)
    return
  end
  local recent = vim.version.ge(versions.python, '3.11')
  local line = ('%s: Python %s, from %s'):format(path, versions.python, source(path))
  health[recent and 'ok' or 'error'](line .. (recent and '' or '; 3.11 is needed'))
  for _, name in ipairs({ 'pynvim', 'msgspec', 'anyio', 'unidiff' }) do
    local version = versions[name]
    if type(version) == 'string' then
      health.ok(name .. ' ' .. version)
    else
      health.error(name .. ' is missing', advice)
    end
  end
end

--- Time to the host and back; the one request of Lua that waits.
---@return number|nil ms nil when it does not answer
local function ping()
  local started = vim.uv.hrtime()
  local ok, answer = pcall(vim.rpcrequest, require('acp.host').channel(), 'ping')
  return ok and answer == 'pong' and (vim.uv.hrtime() - started) / 1e6 or nil
end

local function host()
  health.start('acp: host')
  local state, it = require('acp.state').get(), require('acp.host')
  if not it.running() then
    local line = 'not running (' .. state.host .. ')'
    if state.host == 'failed' then
      health.error(line, it.stderr())
    else
      health.info(line .. '; it starts with the first command')
    end
  else
    local ms = ping()
    if ms then
      health.ok(('running, answers in %.2f ms'):format(ms))
    else
      health.error('running, but it does not answer', it.stderr())
    end
  end
end

---@param name string
---@param agent acp.AgentConfig
---@param chosen boolean
local function one_agent(name, agent, chosen)
  local label = name .. (chosen and ' (for new sessions)' or '')
  local program = vim.fn.expand((agent.command or {})[1] or '')
  if program == '' then
    health.ok(label .. (name == 'tutor' and ': embedded' or ': its command is in agents_file'))
    return
  end
  local path = vim.fn.exepath(program)
  if path ~= '' then
    health.ok(('%s: %s'):format(label, path))
  elseif chosen then
    local how = agent.install and ('install it: ' .. agent.install) or 'install it'
    local advice = { how .. ', or choose another with :Acp agent' }
    health.error(('%s: %s is not on PATH'):format(label, program), advice)
  elseif not vim.deep_equal(agent, require('acp.config').defaults.agents[name]) then
    health.warn(('%s: %s is not on PATH'):format(label, program))
  else
    health.info(('%s: %s is not installed'):format(label, program))
  end
end

local function agents()
  health.start('acp: agents')
  local config = require('acp.config').get()
  local names = vim.tbl_keys(config.agents)
  table.sort(names)
  for _, name in ipairs(names) do
    one_agent(name, config.agents[name], name == config.agent)
  end
  local entries, problem = require('acp.config').registry()
  if problem then
    health.error('agents_file: ' .. problem)
  elseif config.agents_file then
    health.ok(('agents_file: %d agents'):format(#entries))
  end
  for name, agent in pairs(require('acp.state').get().agents) do
    if agent.error then
      health.warn(('%s: %s: %s'):format(name, agent.status, agent.error))
    end
  end
end

local function options()
  health.start('acp: options')
  local mistakes = require('acp.config').mistakes
  for _, mistake in ipairs(mistakes) do
    health.error(mistake)
  end
  if #mistakes == 0 then
    health.ok('no mistakes')
  end
end

--- Called by |:checkhealth|.
function M.check()
  neovim()
  python()
  host()
  agents()
  options()
end

return M
