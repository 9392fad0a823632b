--- Files of `acp.features.prompts.drafts`, with permissions for the user only. Each workspace and
--- Neovim has one in `stdpath('state')/acp/drafts`, named
--- `{workspace}.{pid}.{start}.{machine}.json`. After its Neovim has exited, another may claim the
--- file. The file then has a number before `.json`.
local M = {}

local uv, read_file = vim.uv, require('acp.base.read_file')

--- Version of the file format.
M.VERSION = 1

local PRIVATE_DIRECTORY, PRIVATE_FILE = 448, 384 -- 0700, 0600
local FULL_NAME = '^(%x+)%.(%d+%.%d+%.[%w_-]+)%.?%d*%.json$'
local CLAIMED_NAME = '^%x+%.%d+%.%d+%.[%w_-]+%.%d+%.json$'
--- Lists of sent prompts (`.sent`), unfinished writes (`.new`) and damaged files (`.damaged`).
local OTHER_NAME = '^(%x-)%.?(%d+%.%d+%.[%w_-]+)%.?%d*%.?j?s?o?n?%.%l+$'
local DAY_S = 24 * 3600
local OLD_S = 90 * DAY_S
--- A file of a Neovim on another machine counts as abandoned after this time: its process cannot be
--- checked from here.
local ELSEWHERE_S = 14 * DAY_S

local machine = uv.os_gethostname():gsub('[^%w_-]', '_')

--- Return the state and start time of a process, or nil without /proc.
---@return string|nil state
---@return string|nil start
local function process(pid)
  local text = read_file(('/proc/%s/stat'):format(pid))
  local fields = vim.split(text and text:match('^.*%) (.*)$') or '', ' ')
  return fields[1] ~= '' and fields[1] or nil, fields[20]
end

local owner ---@type string|nil `{pid}.{start}.{machine}` of this Neovim

local function own_name()
  if not owner then
    local _, start = process('self')
    owner = ('%d.%s.%s'):format(vim.fn.getpid(), start or '0', machine)
  end
  return owner
end

local function is_neovim(pid)
  local ok, job = pcall(vim.system, { 'ps', '-p', tostring(pid), '-o', 'comm=' }, { text = true })
  return not ok or (job:wait(1000).stdout or ''):find('nvim', 1, true) ~= nil
end

--- Return whether a Neovim with this process id and start time is running on this machine.
local function is_running(pid, start)
  local _, _, code = uv.kill(pid, 0)
  if code == 'ESRCH' then return false end
  local state, started = process(pid)
  if state then return state ~= 'Z' and state ~= 'X' and started == start end
  return start == '0' and is_neovim(pid)
end

---@return string
function M.directory() return vim.fn.stdpath('state') .. '/acp/drafts' end

--- Return the path of the file where the host lists the prompts that it has sent.
---@return string
function M.sent_path() return ('%s/%s.sent'):format(M.directory(), own_name()) end

--- Add that path to the state of earlier hosts for a new host.
---@param past acp.EarlierHosts
function M.add_sent_path(past) past.sent = M.sent_path() end

local function workspace(cwd) return require('acp.base.workspaces').digits(cwd) end

--- Return the path of this Neovim's file for a workspace.
---@return string
function M.path(cwd) return ('%s/%s.%s.json'):format(M.directory(), workspace(cwd), own_name()) end

--- Create the directory if needed, with permissions for the user only.
function M.prepare()
  local directory = M.directory()
  pcall(vim.fn.mkdir, directory, 'p', PRIVATE_DIRECTORY) -- a failure is reported by the next write
  uv.fs_chmod(directory, PRIVATE_DIRECTORY)
end

--- Call an asynchronous function of `vim.uv` from a coroutine and yield until its result.
---@return string|nil error
---@return any result
local function await(name, ...)
  local here = coroutine.running()
  local args = vim.F.pack_len(...)
  args.n = args.n + 1
  args[args.n] = function(err, result) assert(coroutine.resume(here, err, result)) end
  local request, why = uv[name](vim.F.unpack_len(args))
  if not request then return why end
  return coroutine.yield()
end

--- Call a function of `vim.uv` synchronously, for use while Neovim exits.
---@return string|nil error
---@return any result
local function at_once(name, ...)
  local result, why = uv[name](...)
  return result == nil and (why or name .. ' failed') or nil, result
end

---@param call fun(name: string, ...: any): string|nil, any
---@return string|nil error
local function write_all(fd, text, call)
  local at = 0
  while at < #text do
    local err, count = call('fs_write', fd, text:sub(at + 1), at)
    if err then return err end
    at = at + count
  end
  return (call('fs_fsync', fd))
end

---@class acp.FileJob
---@field path string
---@field text? string nil removes the file
---@field text_if_complete? string written instead if no earlier job has failed
---@field err? string

--- Write to a temporary file, then rename it over the old one.
---@param job acp.FileJob
---@param call fun(name: string, ...: any): string|nil, any
---@return string|nil error
local function write(job, call)
  local new = job.path .. '.new'
  local err, fd = call('fs_open', new, 'w', PRIVATE_FILE)
  if err then return err end
  err = write_all(fd, job.text, call)
  local closed = call('fs_close', fd)
  err = err or closed or (call('fs_rename', new, job.path))
  if err then call('fs_unlink', new) end
  return err
end

---@param job acp.FileJob
---@param call fun(name: string, ...: any): string|nil, any
---@return string|nil error
local function remove(job, call)
  local err = call('fs_unlink', job.path)
  return err and not err:find('ENOENT', 1, true) and err or nil
end

---@param jobs acp.FileJob[]
---@param call fun(name: string, ...: any): string|nil, any
---@return acp.FileJob[] jobs with the errors
local function run_jobs(jobs, call)
  local has_failed = false
  for _, job in ipairs(jobs) do
    if not has_failed then job.text = job.text_if_complete or job.text end
    job.err = (job.text and write or remove)(job, call)
    has_failed = has_failed or job.err ~= nil
  end
  return jobs
end

--- Run jobs one after the other without blocking Neovim. `finished` runs in a fast context
--- (|api-fast|).
---@param jobs acp.FileJob[]
---@param finished fun(jobs: acp.FileJob[])
function M.start(jobs, finished)
  coroutine.wrap(function() finished(run_jobs(jobs, await)) end)()
end

--- Run jobs synchronously.
---@param jobs acp.FileJob[]
---@return acp.FileJob[]
function M.run(jobs) return run_jobs(jobs, at_once) end

--- Return the ids of the prompts that a host has sent and that were not returned.
---@return table<integer, true>
local function sent_ids(path)
  local ids = {}
  for sign, id in (read_file(path) or ''):gmatch('([+-])(%d+)\n') do
    ids[tonumber(id)] = sign == '+' or nil
  end
  return ids
end

---@class acp.DraftName
---@field name string
---@field workspace string
---@field owner string
---@field gone boolean whether its Neovim has exited
---@field age number seconds

--- Return whether the Neovim that owns a file has exited.
---@param name string of its owner
---@param age number seconds
local function is_gone(name, age)
  local pid, start, where = name:match('^(%d+)%.(%d+)%.(.*)$')
  if name == own_name() then
    return false
  elseif where ~= machine then
    return age > ELSEWHERE_S
  end
  return not is_running(tonumber(pid) --[[@as integer]], start)
end

---@return acp.DraftName|nil
local function parse(name, pattern)
  local hash, name_of_owner = name:match(pattern)
  local stat = hash and uv.fs_stat(M.directory() .. '/' .. name)
  if not stat then return nil end
  local age = os.time() - stat.mtime.sec
  local gone = is_gone(name_of_owner, age)
  return { name = name, workspace = hash, owner = name_of_owner, gone = gone, age = age }
end

--- List the directory: draft files, and all others.
---@return acp.DraftName[] files oldest first
---@return acp.DraftName[] others
local function list_directory()
  local files, others = {}, {}
  for name in vim.fs.dir(M.directory()) do
    local file = parse(name, FULL_NAME)
    table.insert(file and files or others, file or parse(name, OTHER_NAME))
  end
  table.sort(files, function(a, b) return a.age > b.age end)
  return files, others
end

--- Remove files older than `OLD_S`, and the leftovers of exited Neovims that have no draft file:
--- lists of sent prompts and unfinished writes.
---@param files acp.DraftName[]
---@param others acp.DraftName[]
local function sweep(files, others)
  local owners = {}
  for _, file in ipairs(files) do
    if file.gone and file.age > OLD_S then
      uv.fs_unlink(M.directory() .. '/' .. file.name)
    else
      owners[file.owner] = true
    end
  end
  for _, file in ipairs(others) do
    local damaged = vim.endswith(file.name, '.damaged')
    local needed = vim.endswith(file.name, '.sent') and owners[file.owner]
    if file.gone and (file.age > OLD_S or not damaged and not needed) then
      uv.fs_unlink(M.directory() .. '/' .. file.name)
    end
  end
end

---@class acp.StoredPrompt
---@field id? integer id in the list of sent prompts
---@field n? integer session number
---@field text string
---@field paths? string[] attached files
---@field ranges? acp.Range[] attached lines

---@class acp.StoredDrafts drafts of one Neovim for one workspace
---@field cwd string
---@field replaces? string[] names of claimed files whose texts this Neovim has written
---@field current? integer
---@field drafts acp.StoredPrompt[]
---@field queue acp.StoredPrompt[]
---@field earlier acp.StoredPrompt[]
---@field remarks acp.Remark[]

local function is_prompt(value) return type(value) == 'table' and type(value.text) == 'string' end

local function is_remark(value)
  return is_prompt(value) and type(value.path) == 'string' and type(value.line) == 'number'
end

--- Return the prompts of a list that were not sent. Raise an error if it is not a list of prompts.
---@param gone table<integer, true> ids of sent prompts
---@return acp.StoredPrompt[]
local function unsent(list, gone)
  assert(type(list) == 'table' and vim.iter(list):all(is_prompt), 'no list of prompts')
  return vim.tbl_filter(function(prompt) return not (prompt.id and gone[prompt.id]) end, list)
end

---@return acp.StoredDrafts
local function read(path)
  local stored =
    vim.json.decode(read_file(path) or '', { luanil = { object = true, array = true } })
  assert(type(stored) == 'table' and stored.version == M.VERSION, 'another version')
  local gone = sent_ids(M.directory() .. '/' .. vim.fs.basename(stored.sent or ''))
  for _, name in ipairs({ 'drafts', 'queue', 'earlier' }) do
    stored[name] = unsent(stored[name] or {}, gone)
  end
  stored.remarks = stored.remarks or {}
  assert(vim.iter(stored.remarks):all(is_remark), 'no list of comments')
  return stored
end

--- Return the names of the files that a draft file replaces.
---@return string[]
local function replaced_names(path)
  local ok, stored = pcall(vim.json.decode, read_file(path) or '')
  local names = ok and type(stored) == 'table' and stored.replaces
  return type(names) == 'table' and names or {}
end

--- Return whether a file must be left alone.
---@return boolean other it belongs to another directory with the same hash
---@return boolean newer a newer version of the plugin wrote it
local function is_foreign(path, cwd)
  local ok, stored = pcall(vim.json.decode, read_file(path) or '')
  if not ok or type(stored) ~= 'table' then return false, false end
  local is_other = type(stored.cwd) == 'string' and stored.cwd ~= cwd
  local is_newer = type(stored.version) == 'number' and stored.version > M.VERSION
  return is_other, is_newer and not is_other
end

--- Remove claimed files whose texts their Neovim had written to its own files before it was killed.
---@param files acp.DraftName[]
---@return acp.DraftName[] files that are left
local function remove_replaced(files)
  local claimed = vim.iter(files):any(function(file) return file.name:match(CLAIMED_NAME) end)
  if not claimed then return files end
  local replaced = {}
  for _, file in ipairs(files) do
    for _, name in ipairs(replaced_names(M.directory() .. '/' .. file.name)) do
      replaced[name] = true
    end
  end
  return vim.tbl_filter(function(file)
    if replaced[file.name] then uv.fs_unlink(M.directory() .. '/' .. file.name) end
    return not replaced[file.name]
  end, files)
end

local claims = 0

--- Rename a file to claim it. If several Neovims try, one succeeds.
---@param file acp.DraftName
---@return string|nil path
---@return string|nil problem
local function claim(file)
  claims = claims + 1
  local path = ('%s/%s.%s.%d.json'):format(M.directory(), file.workspace, own_name(), claims)
  local ok, why, code = uv.fs_rename(M.directory() .. '/' .. file.name, path)
  if ok then return path end
  return nil, code ~= 'ENOENT' and why or nil
end

--- Claim and read the drafts that exited Neovims left for a workspace. The caller removes the
--- claimed files (`paths`) later. Rename damaged files, and remove old files and leftovers. Leave
--- files from a newer version alone.
---@return acp.StoredDrafts[] drafts oldest first
---@return string[] paths
---@return string[] problems
---@return string|nil newer a file from a newer version
function M.claim_and_read(cwd)
  local drafts, paths, problems, newer = {}, {}, {}, nil
  local files, others = list_directory()
  files = remove_replaced(files)
  local hash = workspace(cwd)
  local function take(file)
    local path, problem = claim(file)
    problems[#problems + 1] = problem
    local ok, stored = pcall(read, path)
    if path and ok then
      drafts[#drafts + 1] = stored
      paths[#paths + 1] = path
    elseif path then
      uv.fs_rename(path, path .. '.damaged')
      problems[#problems + 1] = require('acp.base.messages').why_draft_damaged:format(path)
    end
  end
  for _, file in ipairs(files) do
    local path = M.directory() .. '/' .. file.name
    if file.gone and file.age <= OLD_S and file.workspace == hash then
      local is_other, is_newer = is_foreign(path, cwd)
      if is_newer then
        newer = newer or path
      elseif not is_other then
        take(file)
      end
    end
  end
  sweep(files, others)
  return drafts, paths, problems, newer
end

return M
