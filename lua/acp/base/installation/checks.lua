--- Checks of the installation and configuration, with advice, for `:checkhealth acp` and reports.
local M = {}

local health ---@type table functions as in `vim.health`

--- Longest wait for the interpreter to report its versions.
M.patience_ms = 10000

--- Longest wait for an answer from the host.
M.ping_ms = 3000

--- Program that prints versions. It must run on any Python, so that an old one can be reported.
local PROBE = [[
import json, sys
found = {"python": "%d.%d.%d" % tuple(sys.version_info[:3])}
try:
    from importlib import metadata
    for name in sys.argv[1:]:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            pass
except ImportError:
    pass
print(json.dumps(found))
]]
local OLDEST = '3.11'

local function plugin()
  health.start('acp: plugin')
  health.ok('acp.nvim ' .. require('acp.base.installation.version').line())
  if require('acp.base.installation.updated').is_updated() then
    health.warn('it was updated after this Neovim had loaded it', { 'Restart Neovim' })
  end
end

local function neovim()
  health.start('acp: Neovim')
  local version = tostring(vim.version())
  if vim.fn.has('nvim-0.10') == 0 then
    health.error('Neovim ' .. version .. ' is older than 0.10')
  elseif vim.fn.has('nvim-0.13') == 1 then
    health.info('Neovim ' .. version .. ' is not tested. 0.10, 0.11 and 0.12 are')
  else
    health.ok('Neovim ' .. version)
  end
end

--- Report whether the plugin is tested on this system.
local function system()
  health.start('acp: system')
  local name = vim.uv.os_uname().sysname
  if name == 'Linux' then
    health.ok('Linux: all tests run on it')
  elseif vim.fn.has('win32') == 1 then
    local advice = { 'Use WSL, which counts as Linux. See :help acp-systems' }
    health.warn('Windows without WSL is not tested', advice)
  else
    local how = 'the tests run on Linux with Linux-only features disabled. See :help acp-systems'
    health.info(('%s is not tested itself: %s'):format(name, how))
  end
end

--- Return the packages that the host needs and their minimum versions. A remote agent needs more.
---@return table<string, string>
local function needed_packages()
  local file = require('acp.base.host.python').root() .. '/pyproject.toml'
  local project = assert(require('acp.base.read_file')(file))
  local list = project:match('\ndependencies = (%b[])')
  local agents = require('acp.config').get().agents
  if require('acp.base.settings.addresses').has_any(agents) then
    list = list .. project:match('\nremote = (%b[])')
  end
  local needed = {}
  for name, version in list:gsub('(%w)%[[%w,]+%]', '%1'):gmatch('"([%w_-]+)>=([%d.]+)"') do
    needed[name] = version
  end
  return needed
end

--- Return the versions of Python and of packages, as found by the interpreter.
---@param names string[] of packages
---@return table|nil versions
---@return string|nil problem
local function probe(python, names)
  local argv = vim.list_extend({ python, '-c', PROBE }, names)
  -- The host's directory: in the current one, Python would import a `json.py` of the project.
  local opts = { text = true, cwd = require('acp.base.host.python').root() }
  local ok, job = pcall(vim.system, argv, opts)
  if not ok then return nil, tostring(job) end
  local result = job:wait(M.patience_ms)
  if not result or result.signal == 9 then -- nil if a child process keeps the output open
    return nil, 'it does not finish'
  end
  local good, versions = pcall(vim.json.decode, result.stdout or '')
  if result.code ~= 0 or not good then
    local lines = vim.split(vim.trim(result.stderr or ''), '\n')
    return nil, lines[#lines] ~= '' and lines[#lines] or ('exit code %d'):format(result.code)
  end
  return versions
end

--- Return only the numbers of a version, because `vim.version` rejects `1.0rc1` and `0.6.0.dev1`.
local function numbers_of(version) return version:match('^%d+%.?%d*%.?%d*') end

--- Report which packages are present, too old or missing.
---@param versions table<string, string>
---@param wanted table<string, string>
local function packages(versions, wanted, advice)
  local missing = {}
  for _, name in ipairs(require('acp.base.sorted_keys')(wanted)) do
    local version = versions[name]
    if not version then
      missing[#missing + 1] = name
    elseif vim.version.lt(numbers_of(version), wanted[name]) then
      health.error(('%s %s is too old, %s is needed'):format(name, version, wanted[name]), advice)
    else
      health.ok(name .. ' ' .. version)
    end
  end
  if #missing > 0 then
    local verb = #missing > 1 and ' are missing' or ' is missing'
    health.error(table.concat(missing, ', ') .. verb, advice)
  end
end

local function python()
  health.start('acp: Python')
  local interpreter, wanted = require('acp.base.host.python'), needed_packages()
  local path, source = interpreter.find()
  local advice = { interpreter.advice() }
  if interpreter.is_broken() then
    health.warn('The .venv is broken: its interpreter is gone', { interpreter.venv_advice() })
  end
  if vim.fn.executable(path) == 0 then
    health.error(('%s cannot be run (from %s)'):format(path, interpreter.name(source)), advice)
    return
  end
  local versions, problem = probe(path, vim.tbl_keys(wanted))
  if not versions then
    health.error(('%s does not answer: %s'):format(path, problem), advice)
    return
  end
  local line = ('%s: Python %s (from %s)'):format(path, versions.python, interpreter.name(source))
  if vim.version.lt(versions.python, OLDEST) then
    health.error(('%s, but %s is needed'):format(line, OLDEST), advice)
    return
  end
  health.ok(line)
  packages(versions, wanted, advice)
end

--- Measure how long the host takes to answer.
---@return number|nil ms nil if the host does not answer
local function ping()
  local started, answered = vim.uv.hrtime(), nil
  local id = require('acp.base.host.replies').expect(function() answered = vim.uv.hrtime() end)
  if not require('acp.base.host').notify('ping', { id = id }) then return nil end
  vim.wait(M.ping_ms, function() return answered ~= nil end, 1)
  return answered and (answered - started) / 1e6
end

--- Return the last lines of the host's stderr, without lines that only underline others, or nil.
local function last_lines()
  local lines = vim.tbl_filter(
    function(line) return not line:match('^[%s~^]*$') end,
    require('acp.base.host').stderr()
  )
  return #lines > 0 and vim.list_slice(lines, math.max(#lines - 4, 1)) or nil
end

local function report_stopped_host()
  local state = require('acp.base.state').get().host
  local line = 'Not running (' .. state .. ')'
  if state == 'failed' then
    health.error(line, last_lines())
  else
    health.info(line .. '. It starts with the first command')
  end
end

local function host()
  health.start('acp: host')
  if not require('acp.base.host').is_running() then return report_stopped_host() end
  local ms = ping()
  if ms then
    health.ok(('Running, answers in %.2f ms'):format(ms))
  else
    health.error('Running, but not answering', last_lines())
  end
end

--- Return why a program cannot be started.
local function start_problem(program)
  if not program:find('[/\\]') then return program .. ' is not on PATH' end
  local exists = vim.uv.fs_stat(program) ~= nil
  return program .. (exists and ' cannot be run' or ' does not exist')
end

---@param agent acp.AgentConfig
---@return string program '' if the agent is embedded, or only the host knows its program
---@return string path '' if the program cannot be started
local function program_of(agent)
  local command = agent.via and { require('acp.base.settings.via').program(agent) } or agent.command
  local program = vim.fn.expand((command or {})[1] or '')
  return program, program == '' and '' or vim.fn.exepath(program)
end

--- Return whether an agent is an unchanged built-in one, which need not be installed.
---@param agent acp.AgentConfig
local function is_built_in(name, agent)
  return vim.deep_equal(agent, require('acp.config').defaults.agents[name])
end

---@param agent acp.AgentConfig
---@return boolean available whether its program can probably be started
local function report_agent(name, agent, chosen)
  local label = name .. (chosen and ' (for new sessions)' or '')
  local program, path = program_of(agent)
  if agent.url then
    health.ok(
      ('%s: at %s'):format(label, require('acp.base.settings.addresses').without_secrets(agent.url))
    )
  elseif agent.via and (program == '' or path ~= '') then
    health.ok(('%s: via %s'):format(label, require('acp.base.settings.via').label(agent)))
  elseif program == '' then
    health.ok(label .. (name == 'tutor' and ': embedded' or ': its command is in agents_file'))
  elseif path ~= '' then
    health.ok(('%s: %s'):format(label, path))
  elseif chosen then
    local how = agent.install and ('Install it: ' .. agent.install) or 'Install it'
    local advice = { how .. ', or choose another with :Acp agent' }
    health.error(('%s: %s'):format(label, start_problem(program)), advice)
  else
    health.warn(('%s: %s'):format(label, start_problem(program)))
  end
  return program == '' or path ~= ''
end

--- Sort agents: the chosen one, those that can be started, those that the user has configured.
--- Presets that are not installed are listed separately.
---@param all table<string, acp.AgentConfig>
---@param chosen string
---@return string[] names
---@return string[] others
local function sort_agents(all, chosen)
  local names, others, rank = {}, {}, {} ---@type string[], string[], table<string, integer>
  for name, agent in pairs(all) do
    local program, path = program_of(agent)
    local is_there = program == '' or path ~= ''
    rank[name] = name == chosen and 0 or is_there and 1 or 2
    local other = rank[name] == 2 and is_built_in(name, agent)
    table.insert(other and others or names, name)
  end
  table.sort(names, function(a, b) return rank[a] == rank[b] and a < b or rank[a] < rank[b] end)
  table.sort(others)
  return names, others
end

local function agents()
  health.start('acp: agents')
  local config = require('acp.config').get()
  local missing, chosen = {}, require('acp.base.valid_names').agent()
  local names, others = sort_agents(config.agents, chosen)
  for _, name in ipairs(names) do
    missing[name] = not report_agent(name, config.agents[name], name == chosen)
  end
  if #others > 0 then
    local count = #others == 1 and '1 other' or ('%d others'):format(#others)
    local list = table.concat(others, ', ')
    local how = 'Choose one with :Acp agent; this report then says how to install it'
    health.info(('%s not installed: %s. %s'):format(count, list, how))
  end
  local entries, problem = require('acp.config').registry()
  if problem then
    health.error('agents_file: ' .. problem)
  elseif config.agents_file then
    health.ok(('agents_file: %d agents'):format(#entries))
    vim.iter(require('acp.base.installation.updates').lines()):each(health.info)
  end
  for name, agent in pairs(require('acp.base.state').get().agents) do
    if agent.error and not missing[name] then
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
  if #mistakes == 0 then health.ok('No mistakes') end
end

local function git()
  health.start('acp: git')
  if vim.fn.executable('git') == 1 then
    health.ok(vim.fn.exepath('git'))
  else
    local advice = { 'Install git. Edits through the editor are reviewed without it, too' }
    health.warn('git is not installed: no checkpoints, and changes on disk are not noticed', advice)
  end
end

--- Report whether the data that outlives Neovim can be stored.
local function data()
  health.start('acp: data')
  local folder = vim.fs.joinpath(vim.fn.stdpath('data'), 'acp')
  local existing = folder
  while not vim.uv.fs_stat(existing) do
    existing = vim.fs.dirname(existing)
  end
  if vim.uv.fs_access(existing, 'W') and vim.fn.isdirectory(existing) == 1 then
    health.ok(vim.fn.fnamemodify(folder, ':~'))
  else
    local advice = { 'Make it writable: pending edits, drafts and history end with Neovim' }
    health.error(('%s cannot be written'):format(existing), advice)
  end
end

--- Report the worktrees that have not landed.
local function worktrees()
  local folder = vim.fn.stdpath('data') .. '/acp/worktrees'
  local waiting = {} ---@type string[]
  for _, file in ipairs(vim.fn.glob(folder .. '/*.json', true, true)) do
    local text = require('acp.base.read_file')(file)
    local ok, record = pcall(vim.json.decode, text or '')
    local path = ok and type(record) == 'table' and record.path
    if path and vim.uv.fs_stat(path) then waiting[#waiting + 1] = vim.fn.fnamemodify(path, ':~') end
  end
  if #waiting > 0 then
    local count = #waiting == 1 and '1 worktree waits' or ('%d worktrees wait'):format(#waiting)
    health.info(('%s for :Acp land: %s'):format(count, table.concat(waiting, ', ')))
  end
end

---@param reporter table functions as in `vim.health` that take the lines
function M.run(reporter)
  health = reporter
  plugin()
  neovim()
  system()
  options()
  python()
  git()
  data()
  worktrees()
  host()
  agents()
end

return M
