--- `:Acp install`: build the Python environment (`acp.base.host.python`) in the background.
--- lazy.nvim runs it too, through `build.lua`, before 'runtimepath' is set up, so modules are
--- loaded by path.
local M = {}

local base = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h:h:h') .. '/base'
local env = dofile(base .. '/host/python.lua') -- a second copy is harmless: no state
local messages = dofile(base .. '/messages.lua')

---@class acp.Step
---@field name string shown to the user
---@field argv string[]
---@field env? table<string, string>

local is_running = false

--- Return whether `:Acp install` is running.
function M.is_running() return is_running end

--- Return whether an interpreter works and is recent enough.
local function is_usable(path)
  local code = 'import sys; sys.exit(sys.version_info < (3, 11))'
  local ok, job = pcall(vim.system, { path, '-c', code }, { cwd = env.root() })
  return ok and job:wait(30000).code == 0
end

--- Find Python 3.11 or later to create the environment with. `uv` does not need it.
local function base_python()
  local names = { 'python3.14', 'python3.13', 'python3.12', 'python3.11', 'python3', 'python' }
  if vim.g.python3_host_prog then table.insert(names, 1, vim.g.python3_host_prog) end
  for _, name in ipairs(names) do
    local path = vim.fn.exepath(vim.fn.expand(name))
    if path ~= '' and is_usable(path) then return path end
  end
end

--- Return the step that creates the environment, replacing one with a missing or old interpreter.
---@return acp.Step|nil
local function creation_step()
  local venv = env.venv()
  if vim.fn.executable('uv') == 1 then
    local argv = { 'uv', 'venv', '--python', '>=3.11', venv }
    return { name = messages.part_make_uv, argv = argv, env = { UV_VENV_CLEAR = '1' } }
  end
  local python = base_python()
  return python and { name = messages.part_make, argv = { python, '-m', 'venv', '--clear', venv } }
end

--- Return the requirement to install, with the extra for remote agents if an agent has a `url`.
--- When lazy.nvim builds, the options are not known yet; an extra that is already installed is not
--- removed.
local function package()
  local ok, config = pcall(require, 'acp.config')
  local extra = ok and require('acp.base.settings.addresses').has_any(config.get().agents)
  return env.root() .. (extra and '[remote]' or '')
end

--- Return the steps that install the package. An environment created by uv has no pip; ensurepip
--- adds it.
---@return acp.Step[]
local function install_steps(fresh)
  local python, what = env.in_venv(), package()
  if vim.fn.executable('uv') == 1 then
    local uv = { 'uv', 'pip', 'install', '--compile-bytecode', '--python', python }
    return { { name = messages.part_fill_uv, argv = vim.list_extend(uv, { '-e', what }) } }
  end
  local pip = { python, '-m', 'pip', 'install', '--disable-pip-version-check', '-e', what }
  local ensure = { name = messages.part_check_pip, argv = { python, '-m', 'ensurepip' } }
  local install = { name = messages.part_fill, argv = pip }
  return fresh and { install } or { ensure, install }
end

--- Return all steps in order. A working environment is repaired, not replaced.
---@return acp.Step[] steps
---@return string|nil problem
function M.steps()
  local steps = {}
  if not is_usable(env.in_venv()) then
    steps[1] = creation_step()
    if not steps[1] then return {}, messages.why_no_python end
  end
  vim.list_extend(steps, install_steps(#steps > 0))
  -- Otherwise the first prompt would wait for the compilation.
  local code = vim.fs.joinpath(env.root(), 'acp_nvim')
  local compile = env.argv(env.in_venv(), '-m', 'compileall', '-q', code)
  steps[#steps + 1] = { name = messages.part_compile, argv = compile }
  return steps
end

--- Patterns, in lower case, in messages of pip and uv that cannot reach the package index.
local UNREACHABLE = {
  'connection broken by',
  'failed to fetch',
  'error sending request',
  'dns error',
  'name resolution',
}

--- Return the reason from a step's output: the last error, else the last line.
---@param output string
---@return string
local function reason(output)
  local lower = output:lower()
  for _, pattern in ipairs(UNREACHABLE) do
    if lower:find(pattern, 1, true) then return messages.why_no_index end
  end
  local last, found = '', nil ---@type string, string|nil
  for line in vim.gsplit(output, '\n', { trimempty = true }) do
    if line:match('%S') then last = vim.trim(line) end
    found = line:match('^%s*[Ee][Rr][Rr][Oo][Rr]: (.*)') or found
  end
  return found or last
end

---@param step acp.Step
---@param result vim.SystemCompleted
local function failure(step, result)
  local output = result.stderr ~= '' and result.stderr or result.stdout or ''
  return messages.install_failed:format(reason(output), step.name, result.code)
end

---@param steps acp.Step[]
---@param done fun(problem: string|nil)
local function run_from(steps, i, done)
  local step = steps[i]
  if not step then return done(nil) end
  require('acp.base.notify').echo('info', messages.install_step:format(step.name, i, #steps))
  local opts = { cwd = env.root(), env = step.env, text = true }
  local ended = vim.schedule_wrap(function(result)
    if result.code == 0 then
      run_from(steps, i + 1, done)
    else
      done(failure(step, result))
    end
  end)
  local ok, why = pcall(vim.system, step.argv, opts, ended)
  if not ok then done(messages.install_broke:format(step.name, why)) end
end

--- Build or repair the environment. Return at once; each step is shown as a message.
---@param on_end? fun(problem: string|nil)
function M.run(on_end)
  local notify = require('acp.base.notify')
  if is_running then
    notify.echo('info', messages.install_busy)
    return
  end
  local steps, problem = M.steps()
  local function done(why)
    is_running = false
    if why then
      notify.error(why)
    else
      local _, source = require('acp.base.host.python').find()
      notify.show('info', source == 'option' and 'install_unused' or 'install_done')
    end
    if on_end then on_end(why) end
  end
  if problem then return done(messages.install_impossible:format(problem)) end
  is_running = true
  run_from(steps, 1, done)
end

--- Build or repair the environment synchronously, for the build hook of a plugin manager. Raise an
--- error if a step fails. If the plugin is loaded, this is an update.
---@param report fun(line: string)
function M.build(report)
  local steps, problem = M.steps()
  if problem then error('acp.nvim: ' .. problem, 0) end
  for _, step in ipairs(steps) do
    report(step.name)
    local result = vim.system(step.argv, { cwd = env.root(), env = step.env, text = true }):wait()
    if result.code ~= 0 then error('acp.nvim: ' .. failure(step, result), 0) end
  end
  if vim.g.loaded_acp then report(messages.updated) end
end

return M
