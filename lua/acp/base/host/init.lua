--- The Python host: a single process, started on first use. Lua sends it only notifications.
local M = {}

--- Longest wait for the shared host when Neovim exits.
local LEAVE_MS = 1000

--- Exit code of a process that Neovim has terminated.
local TERMINATED = 143

--- Time that a host may take to start before a warning is shown.
M.patience_ms = 10000

--- Time between checks whether the host answers, and the number of checks without an answer after
--- which a warning is shown.
M.check_ms = 1000
local MAX_MISSES = 5

--- Verbs that report changes to buffers. Every other verb emits `verb_goes` first, so that pending
--- reports are sent before it.
local ABOUT_BUFFERS = { edited = true, doubted = true, saved = true }

--- Verbs that may cancel a turn. `prompt` does if it is sent now.
local CANCELLING = { cancel = true, cancel_edit = true, send = true }
local cancels = 0 -- number of these verbs that were sent

local channel
local stderr = {}
local partial = '' -- an incomplete line of stderr
local is_classic = false
local is_lost = false -- the shared host has died; Neovim does not start it a second time
--- Verbs queued until the process has started, or nil if no start is under way.
---@type { [1]: string, [2]: table|nil }[]|nil
local waiting
local is_checking = false -- whether the next check for answers is due
local is_unanswered = false -- whether no frame has arrived since a verb was sent
local misses = 0 -- number of checks since the last frame
local has_given_up = false -- the plugin stopped the host because its channel was closed

--- Return the last lines that the host wrote to stderr.
---@return string[]
function M.stderr() return stderr end

---@return boolean
function M.is_running() return channel ~= nil or waiting ~= nil end

---@return integer? channel of the host, nil while it is not running
function M.channel() return channel end

local function append_stderr(line)
  if line ~= '' then stderr[#stderr + 1] = line end
  while #stderr > 100 do
    table.remove(stderr, 1)
  end
end

--- Collect lines of stderr. A line may arrive in pieces, and `{ '' }` is the end of the output
--- (|channel-lines|).
local function on_stderr(_, data)
  data[1] = partial .. data[1]
  local has_ended = #data == 1 and data[1] == partial
  partial = has_ended and '' or table.remove(data)
  for _, line in ipairs(data) do
    append_stderr(line)
  end
end

--- Return why a host exited while starting. The advice comes first because the line may be cut.
local function start_failure(reason)
  local python, messages = require('acp.base.host.python'), require('acp.base.messages')
  local path, source = python.find()
  local old = reason:match('needs Python [%d.]+; this is (.*)')
  local what = reason:match('ModuleNotFoundError: (.*)')
    or old and messages.python_too_old:format(old)
  if what and source ~= 'option' and python.is_broken() then what = messages.venv_broken end
  if what then return messages.with_way_out:format(what, python.advice(), path) end
  return messages.host_failed:format(reason)
end

--- Describe the pending edits that the next host will restore.
local function edits_part()
  local messages = require('acp.base.messages')
  local count = #require('acp.base.valid_names').pending_paths()
  if count == 0 then return '' end
  return count == 1 and messages.part_edits_of_file or messages.part_edits_of_files:format(count)
end

--- Return why the host exited and what the user can do.
local function exit_summary(code)
  local messages = require('acp.base.messages')
  local reason = stderr[#stderr] or messages.why_exit_code:format(code)
  if require('acp.base.state').get().host == 'starting' then return start_failure(reason) end
  if code > 0 and code < 128 and require('acp.base.installation.updated').is_updated() then
    reason = messages.why_updated
  end
  return messages.host_ended:format(reason, edits_part())
end

local function on_exit_code(code)
  channel = nil
  append_stderr(partial)
  partial = ''
  if has_given_up and (code < 128 or code == TERMINATED) then
    append_stderr(require('acp.base.messages').why_output_closed)
  end
  local message = exit_summary(code)
  require('acp.base.signals').emit('host_exited', message)
  if vim.v.exiting == vim.NIL then require('acp.base.notify').echo('error', message) end
end

local function start_own()
  local reason = require('acp.base.host.python').why_unusable()
  if reason then return nil, reason end
  local python = require('acp.base.host.python').find()
  local argv = require('acp.base.host.python').argv(python, '-m', 'acp_nvim')
  stderr, partial, has_given_up = {}, '', false
  local ok, job = pcall(vim.fn.jobstart, argv, {
    rpc = true,
    cwd = require('acp.base.host.python').root(),
    env = require('acp.base.host.early_agent').env(waiting or {}),
    overlapped = vim.fn.has('win32') == 1 or nil,
    on_stderr = on_stderr,
    -- The callback may run inside a function that queries the job, where a message is an error.
    on_exit = vim.schedule_wrap(function(id, code)
      if id == channel then on_exit_code(code) end
    end),
  })
  if not ok or job <= 0 then
    local messages = require('acp.base.messages')
    return nil, messages.cannot_start:format(python, ok and messages.why_not_executable or job)
  end
  return job
end

--- Forget the channel, because the shared host has cleaned up after `leave`.
function M.on_exit() channel = nil end

--- Return the arguments of the verb `setup`: all options, and the additions of listeners.
local function setup_args()
  local args = require('acp.config').for_host()
  require('acp.base.signals').emit('setup', args)
  args.cancels = cancels
  return args
end

--- Return whether the host has yet to handle a verb that may cancel a turn.
---@param handled integer number of these verbs that the host has handled
---@return boolean
function M.is_cancelling(handled) return cancels > handled end

--- Send changed options to the host, if it is running.
function M.setup()
  if M.is_running() then M.notify('setup', setup_args()) end
end

--- Ask the shared host to clean up before Neovim exits. Other plugins use its process too, so it is
--- not stopped.
local function leave()
  if is_classic and channel and pcall(vim.rpcnotify, channel, 'acp', 'leave', vim.empty_dict()) then
    vim.wait(LEAVE_MS, function() return channel == nil end, 5)
  end
end

--- Start the host inside the shared host of remote plugins. This is used only if there is no
--- interpreter for the plugin itself and `:UpdateRemotePlugins` was run.
local function start_classic()
  local ok, id = pcall(vim.fn._AcpClassicStart)
  if not ok then return nil, require('acp.base.messages').classic_failed:format(id) end
  is_classic = true
  require('acp.base.autocmds').group('acp.host')('VimLeavePre', leave)
  return id
end

--- Return whether to use the shared host. The manifest defines the function when it is first
--- called.
local function wants_classic()
  if is_lost then return false end
  local is_known = vim.fn.exists('*_AcpClassicStart') == 1
    or vim.fn.exists('#FuncUndefined#_AcpClassicStart') == 1
  return is_known
    and not require('acp.config').get().python
    and not vim.uv.fs_stat(require('acp.base.host.python').venv())
end

--- Stop a host whose channel is closed although its process may still run, as with a program that
--- prints a greeting to stdout. The exit handler reports the error.
local function give_up()
  has_given_up = vim.fn.jobwait({ channel }, 0)[1] == -1
  pcall(vim.fn.jobstop, channel)
end

--- Check after `patience_ms` whether a host has started.
---@param id integer its channel
local function check_later(id)
  vim.defer_fn(function()
    if channel ~= id or require('acp.base.state').get().host ~= 'starting' then return end
    -- Only a use of the channel shows whether Neovim has closed it.
    local ok = pcall(vim.rpcnotify, id, 'acp', 'setup', setup_args())
    if not ok and not is_classic then return give_up() end
    require('acp.base.notify').show('warn', 'host_slow', M.patience_ms / 1000)
  end, M.patience_ms)
end

--- Start the host unless it is running. Send it the options, and warn if the plugin was updated
--- while Neovim was running. If the host cannot be started, set its state to failed.
---@return integer|nil channel nil if it could not be started
---@return string|nil reason
function M.start()
  if channel then return channel end
  local id, reason = (wants_classic() and start_classic or start_own)()
  if not id then
    require('acp.base.state').on_host_exit('failed', reason)
    return nil, reason
  end
  channel = id
  require('acp.base.state').set({ 'host' }, 'starting')
  local args = setup_args()
  require('acp.base.signals').emit('host_starts', args)
  vim.rpcnotify(id, 'acp', 'setup', args)
  check_later(id)
  -- The new process runs the new version, but this Neovim has loaded modules of the old one.
  if require('acp.base.installation.updated').is_updated() then
    require('acp.base.notify').show('warn', 'updated')
  end
  return id
end

--- Record that a frame has arrived.
function M.on_frame()
  is_unanswered, misses = false, 0
end

local function check_answers()
  local id = channel
  is_checking = true
  vim.defer_fn(function()
    is_checking = false
    if not is_unanswered or channel ~= id then return end
    misses = misses + 1
    if misses < MAX_MISSES then
      check_answers()
      -- Most verbs cause a frame, but not all.
      if misses == 1 then M.notify('ping', { id = 0 }) end
      return
    end
    local seconds = MAX_MISSES * M.check_ms / 1000
    local is_alive, pid = pcall(vim.fn.jobpid, id)
    if not is_alive then return end
    require('acp.base.notify').show('warn', 'host_silent', seconds, pid)
  end, M.check_ms)
end

--- Check whether the host answers a verb, until it does. If it does not, as when it is stopped,
--- show a warning. Checks are counted, because a busy or suspended Neovim reads no answers.
local function expect_answer()
  if require('acp.base.state').get().host ~= 'running' then return end
  is_unanswered = true
  if is_checking then return end
  misses = 0
  check_answers()
end

local function deliver(verb, args)
  local is_cancel = CANCELLING[verb] or (args or {}).now
  if is_cancel then args = vim.tbl_extend('force', args or {}, { cancels = cancels + 1 }) end
  -- MessagePack would encode an empty table as a list.
  local data = next(args or {}) ~= nil and args or vim.empty_dict()
  local ok, err = pcall(vim.rpcnotify, channel, 'acp', verb, data)
  if ok and is_cancel then cancels = cancels + 1 end
  if ok and not ABOUT_BUFFERS[verb] then expect_answer() end
  if not ok and is_classic then
    is_classic, is_lost, stderr = false, true, { require('acp.base.messages').why_shared_host_gone }
    on_exit_code(0)
    return M.notify(verb, args) -- starts a host of the plugin's own
  elseif not ok then
    require('acp.base.notify').show('error', 'host_refused', verb, err)
    if tostring(err):find('Invalid channel', 1, true) then give_up() end
  end
  return ok
end

--- Return whether a host is running or can probably be started.
---@return boolean
function M.is_usable()
  return M.is_running() or wants_classic() or require('acp.base.host.python').why_unusable() == nil
end

--- Start the process and send it the queued verbs. If that fails, the prompts are still in
--- `acp.features.prompts.delivery`.
local function launch()
  local verbs = waiting or {}
  local id, reason = M.start()
  waiting = nil
  if not id then return require('acp.base.notify').error(reason) end
  for _, verb in ipairs(verbs) do
    deliver(verb[1], verb[2])
  end
end

--- Send a verb to the host, starting the host on first use. Return at once: starting a process
--- takes longer than a keypress may, so it is scheduled.
---@param args? table everything that the host needs for the verb
---@return boolean sent
function M.notify(verb, args)
  if not M.is_running() then
    if vim.v.exiting ~= vim.NIL then return false end
    local reason = not wants_classic() and require('acp.base.host.python').why_unusable()
    if reason then
      require('acp.base.state').on_host_exit('failed', reason)
      require('acp.base.notify').echo('error', reason)
      return false
    end
    waiting = {}
    require('acp.base.state').set({ 'host' }, 'starting')
    vim.schedule(launch)
  end
  if waiting then
    waiting[#waiting + 1] = { verb, args }
    return true
  end
  if not ABOUT_BUFFERS[verb] then require('acp.base.signals').emit('verb_goes') end
  return deliver(verb, args)
end

return M
