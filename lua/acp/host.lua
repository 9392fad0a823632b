--- The Python host: started on first use, one process, asked by notifications only.
local M = {}

--- As long as Neovim's end may take; a guard ends what is left.
local LEAVE_MS = 1000

local channel
local stderr = {}
local classic = false
--- Verbs that wait until the process has been started, nil when nothing does.
---@type { [1]: string, [2]: table|nil }[]|nil
local waiting

--- The repository this file belongs to.
---@return string
function M.root()
  return vim.fs.dirname(vim.fs.dirname(vim.fs.dirname(debug.getinfo(1, 'S').source:sub(2))))
end

--- The interpreter, in the order of the manual: option, the repository's `.venv`,
--- `g:python3_host_prog`, `python3`.
---@return string
function M.python()
  local configured = require('acp.config').get().python
  if configured then
    return vim.fn.expand(configured)
  end
  local windows = vim.fn.has('win32') == 1
  local venv = M.root() .. (windows and '/.venv/Scripts/python.exe' or '/.venv/bin/python')
  if vim.uv.fs_stat(venv) then
    return venv
  end
  return vim.g.python3_host_prog and vim.fn.expand(vim.g.python3_host_prog) or 'python3'
end

--- The last lines that the host wrote to stderr.
---@return string[]
function M.stderr()
  return stderr
end

---@return boolean
function M.running()
  return channel ~= nil or waiting ~= nil
end

---@return integer? channel of the host, nil while none runs
function M.channel()
  return channel
end

local function on_stderr(_, data)
  for _, line in ipairs(data) do
    if line ~= '' then
      stderr[#stderr + 1] = line
    end
  end
  while #stderr > 100 do
    table.remove(stderr, 1)
  end
end

--- Why the host ended, and what the user can do.
---@param code integer
---@return string
local function epitaph(code)
  local reason = stderr[#stderr] or ('exit code %d'):format(code)
  local lacking = reason:match('ModuleNotFoundError: (.*)')
  if lacking and require('acp.state').get().host == 'starting' then
    return ('%s, run :Acp install (%s)'):format(lacking, M.python())
  end
  local files = 0
  for _, session in pairs(require('acp.state').get().sessions) do
    files = files + #(session.edits or {})
  end
  local kept = files > 0 and ('; pending edits of %d files are kept'):format(files) or ''
  return ('the acp host ended (%s)%s; the next command starts it again'):format(reason, kept)
end

local function gone(code)
  channel = nil
  local message = epitaph(code)
  require('acp.past').host_gone(message)
  if vim.v.exiting == vim.NIL then
    require('acp.notify').echo('error', message)
  end
end

--- Why no host of our own can be started, nil when one can.
local function unusable()
  local python = M.python()
  if vim.fn.executable(python) == 0 then
    return ('no Python at %s: run :Acp install or set the option `python`'):format(python)
  end
end

local function start_own()
  local reason = unusable()
  if reason then
    return nil, reason
  end
  local python = M.python()
  stderr = {}
  local ok, job = pcall(vim.fn.jobstart, { python, '-m', 'acp_nvim' }, {
    rpc = true,
    cwd = M.root(),
    overlapped = vim.fn.has('win32') == 1 or nil,
    on_stderr = on_stderr,
    on_exit = function(id, code)
      if id == channel then
        gone(code)
      end
    end,
  })
  if not ok or job <= 0 then
    return nil, ('cannot start %s: %s'):format(python, ok and 'not executable' or job)
  end
  return job
end

--- Called by the host: what it had started is gone.
function M.left()
  channel = nil
end

--- The shared host is not ours to end: what runs in it is, before Neovim goes.
local function leave()
  if channel and pcall(vim.rpcnotify, channel, 'acp', 'leave', vim.empty_dict()) then
    vim.wait(LEAVE_MS, function()
      return channel == nil
    end, 5)
  end
end

--- The classic route: only where no interpreter of our own is there and `:UpdateRemotePlugins` was
--- run.
local function start_classic()
  local ok, id = pcall(vim.fn._AcpClassicStart)
  if not ok then
    return nil, ('the remote plugin host did not start: %s'):format(id)
  end
  classic = true
  vim.api.nvim_create_autocmd('VimLeavePre', {
    group = vim.api.nvim_create_augroup('acp.host', {}),
    callback = leave,
  })
  return id
end

--- The manifest defines the function when it is first called.
local function wants_classic()
  local known = vim.fn.exists('*_AcpClassicStart') == 1
    or vim.fn.exists('#FuncUndefined#_AcpClassicStart') == 1
  return known
    and not require('acp.config').get().python
    and not vim.uv.fs_stat(M.root() .. '/.venv')
end

--- Start the host unless it runs.
---@return integer? channel
---@return string? reason why it could not be started
function M.start()
  if channel then
    return channel
  end
  local id, reason = (wants_classic() and start_classic or start_own)()
  if not id then
    require('acp.state').host_gone('failed', reason)
    return nil, reason
  end
  channel = id
  require('acp.state').set({ 'host' }, 'starting')
  require('acp.notify').watch()
  local args = require('acp.config').for_host()
  args.past = require('acp.past').left()
  vim.rpcnotify(id, 'acp', 'setup', args)
  return id
end

local function deliver(verb, args)
  local ok, err = pcall(vim.rpcnotify, channel, 'acp', verb, args or vim.empty_dict())
  if not ok then
    if classic then
      gone(0)
    end
    require('acp.notify').echo('error', ('the acp host did not take %s: %s'):format(verb, err))
  end
  return ok
end

--- Start the process and hand over what waits. Prompts that it does not take: `acp.composer`.
local function launch()
  local verbs = waiting or {}
  local id, reason = M.start()
  waiting = nil
  if not id then
    require('acp.notify').echo('error', reason or 'the acp host cannot be started')
  end
  for _, verb in ipairs(verbs) do
    if id then
      deliver(verb[1], verb[2])
    end
  end
end

--- Send a verb to the host, starting it on first use. Returns at once: a process takes longer to
--- start than a key may wait, so that is done as soon as what the user did is over.
---@param verb string
---@param args? table all that the host needs to know
---@return boolean sent
function M.notify(verb, args)
  if verb == 'prompt' and require('acp.config').get().follow then
    require('acp.follow').begin()
  end
  if not M.running() then
    local reason = not wants_classic() and unusable()
    if reason then
      require('acp.state').host_gone('failed', reason)
      require('acp.notify').echo('error', reason)
      return false
    end
    waiting = {}
    require('acp.state').set({ 'host' }, 'starting')
    vim.schedule(launch)
  end
  if waiting then
    waiting[#waiting + 1] = { verb, args }
    return true
  end
  return deliver(verb, args)
end

return M
