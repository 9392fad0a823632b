--- The files of `acp.command.drafts`, readable by the user alone: one for each workspace and Neovim
--- in `stdpath('state')/acp/drafts`, named `{workspace}.{pid}.{start}.{machine}.json`. That of a
--- file taken over from a Neovim that has ended has a number before `.json`.
local M = {}

local uv, read_file = vim.uv, require('acp.base.read_file')

--- Of what is in the files.
M.VERSION = 1

local PRIVATE_DIRECTORY, PRIVATE_FILE = 448, 384 -- 0700, 0600
local FULL_NAME = '^(%x+)%.(%d+%.%d+%.[%w_-]+)%.?%d*%.json$'
--- Notes of a host, what was being written, what cannot be read.
local OTHER_NAME = '^(%x-)%.?(%d+%.%d+%.[%w_-]+)%.?%d*%.?j?s?o?n?%.%l+$'
local DAY_S = 24 * 3600
local OLD_S = 90 * DAY_S
--- Whether a Neovim on another machine lives cannot be known here.
local ELSEWHERE_S = 14 * DAY_S

local machine = uv.os_gethostname():gsub('[^%w_-]', '_')

--- The state of a process, and when it was started; nil where there is no /proc.
---@return string|nil state
---@return string|nil start
local function process(pid)
  local text = read_file(('/proc/%s/stat'):format(pid))
  local fields = vim.split(text and text:match('^.*%) (.*)$') or '', ' ')
  return fields[1] ~= '' and fields[1] or nil, fields[20]
end

local owner ---@type string|nil this Neovim, in names of files

local function me()
  if not owner then
    local _, start = process('self')
    owner = ('%d.%s.%s'):format(vim.fn.getpid(), start or '0', machine)
  end
  return owner
end

local function is_neovim(pid)
  local ok, found = pcall(
    function()
      return vim.system({ 'ps', '-p', tostring(pid), '-o', 'comm=' }, { text = true }):wait(1000)
    end
  )
  return not ok or (found.stdout or ''):find('nvim', 1, true) ~= nil
end

--- Whether the Neovim with that number and start still runs on this machine.
local function lives(pid, start)
  local _, _, code = uv.kill(pid, 0)
  if code == 'ESRCH' then return false end
  local state, started = process(pid)
  if state then return state ~= 'Z' and state ~= 'X' and started == start end
  return start == '0' and is_neovim(pid)
end

---@return string
function M.directory() return vim.fn.stdpath('state') .. '/acp/drafts' end

--- Where the host notes which prompts it has sent.
---@return string
function M.sent_path() return ('%s/%s.sent'):format(M.directory(), me()) end

local function workspace(cwd) return require('acp.base.workspaces').digits(cwd) end

--- The file of this Neovim for a workspace.
---@return string
function M.path(cwd) return ('%s/%s.%s.json'):format(M.directory(), workspace(cwd), me()) end

--- See to it that the directory is there, for the user alone.
function M.prepare()
  local directory = M.directory()
  pcall(vim.fn.mkdir, directory, 'p', PRIVATE_DIRECTORY) -- whoever writes there says why that fails
  uv.fs_chmod(directory, PRIVATE_DIRECTORY)
end

--- Call a function of `vim.uv` from a coroutine and wait for its result.
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

--- The same where Neovim ends, and nothing is waited for any more.
---@return string|nil error
---@return any result
local function at_once(name, ...)
  local result, why = uv[name](...)
  return result == nil and (why or name .. ' failed') or nil, result
end

---@param call fun(name: string, ...: any): string|nil, any
---@return string|nil error
local function fill(fd, text, call)
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
---@field text? string nil: the file is removed
---@field err? string why it was not done

--- Write a file beside the one that is there, then put it in its place.
---@param job acp.FileJob
---@param call fun(name: string, ...: any): string|nil, any
---@return string|nil error
local function write(job, call)
  local new = job.path .. '.new'
  local err, fd = call('fs_open', new, 'w', PRIVATE_FILE)
  if err then return err end
  err = fill(fd, job.text, call)
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
local function work(jobs, call)
  for _, job in ipairs(jobs) do
    job.err = (job.text and write or remove)(job, call)
  end
  return jobs
end

--- Do these, one after the other, without keeping Neovim waiting. `finished` is called where little
--- may be called (|api-fast|).
---@param jobs acp.FileJob[]
---@param finished fun(jobs: acp.FileJob[])
function M.start(jobs, finished)
  coroutine.wrap(function() finished(work(jobs, await)) end)()
end

--- The same at once.
---@param jobs acp.FileJob[]
---@return acp.FileJob[]
function M.run(jobs) return work(jobs, at_once) end

--- Numbers of the prompts that a host has sent, and did not get back.
---@return table<integer, true>
local function sent(path)
  local found = {}
  for sign, id in (read_file(path) or ''):gmatch('([+-])(%d+)\n') do
    found[tonumber(id)] = sign == '+' or nil
  end
  return found
end

---@class acp.DraftName
---@field name string
---@field workspace string
---@field owner string
---@field gone boolean nobody lives for it any more
---@field age number seconds

--- Whether nobody lives for a file any more.
---@param whose string owner
---@param age number seconds
local function is_gone(whose, age)
  local pid, start, where = whose:match('^(%d+)%.(%d+)%.(.*)$')
  if whose == me() then
    return false
  elseif where ~= machine then
    return age > ELSEWHERE_S
  end
  return not lives(tonumber(pid) --[[@as integer]], start)
end

---@return acp.DraftName|nil
local function parse(name, pattern)
  local hash, whose = name:match(pattern)
  local stat = hash and uv.fs_stat(M.directory() .. '/' .. name)
  if not stat then return nil end
  local age = os.time() - stat.mtime.sec
  local gone = is_gone(whose, age)
  return { name = name, workspace = hash, owner = whose, gone = gone, age = age }
end

--- The contents of the directory: files of drafts, and all others.
---@return acp.DraftName[] files the oldest first
---@return acp.DraftName[] others
local function listed()
  local files, others = {}, {}
  for name in vim.fs.dir(M.directory()) do
    local file = parse(name, FULL_NAME)
    table.insert(file and files or others, file or parse(name, OTHER_NAME))
  end
  table.sort(files, function(a, b) return a.age > b.age end)
  return files, others
end

--- Remove what is too old to be wanted, and what Neovims left that have ended and kept no draft:
--- notes on prompts, files that were being written.
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

---@class acp.KeptPrompt
---@field id? integer by which a host notes that it has sent it
---@field n? integer our number of the session
---@field text string
---@field paths? string[] attached files
---@field ranges? acp.Range[] attached lines

---@class acp.Kept what one Neovim kept for a workspace
---@field cwd string
---@field current? integer
---@field drafts acp.KeptPrompt[]
---@field queue acp.KeptPrompt[]
---@field earlier acp.KeptPrompt[]
---@field remarks acp.Remark[]

local function is_prompt(value) return type(value) == 'table' and type(value.text) == 'string' end

local function is_remark(value)
  return is_prompt(value) and type(value.path) == 'string' and type(value.line) == 'number'
end

--- The prompts of a list that were not sent. An error where it is no list of prompts.
---@param gone table<integer, true>
---@return acp.KeptPrompt[]
local function unsent(list, gone)
  assert(type(list) == 'table' and vim.iter(list):all(is_prompt), 'no list of prompts')
  return vim.tbl_filter(function(prompt) return not (prompt.id and gone[prompt.id]) end, list)
end

---@return acp.Kept
local function read(path)
  local kept = vim.json.decode(read_file(path) or '', { luanil = { object = true, array = true } })
  assert(type(kept) == 'table' and kept.version == M.VERSION, 'another version')
  local gone = sent(M.directory() .. '/' .. vim.fs.basename(kept.sent or ''))
  for _, name in ipairs({ 'drafts', 'queue', 'earlier' }) do
    kept[name] = unsent(kept[name] or {}, gone)
  end
  kept.remarks = kept.remarks or {}
  assert(vim.iter(kept.remarks):all(is_remark), 'no list of comments')
  return kept
end

--- Whether a file is not to be taken over: of another directory, whose name comes to the same
--- digits, or of a newer version.
---@return boolean other
---@return boolean newer
local function is_not_ours(path, cwd)
  local ok, kept = pcall(vim.json.decode, read_file(path) or '')
  if not ok or type(kept) ~= 'table' then return false, false end
  local other = type(kept.cwd) == 'string' and kept.cwd ~= cwd
  local newer = type(kept.version) == 'number' and kept.version > M.VERSION
  return other, newer and not other
end

local taken = 0

--- Make a file ours. Of several Neovims one succeeds.
---@param file acp.DraftName
---@return string|nil path
---@return string|nil problem
local function claim(file)
  taken = taken + 1
  local path = ('%s/%s.%s.%d.json'):format(M.directory(), file.workspace, me(), taken)
  local ok, why, code = uv.fs_rename(M.directory() .. '/' .. file.name, path)
  if ok then return path end
  return nil, code ~= 'ENOENT' and why or nil
end

--- Take over what Neovims that have ended kept for a workspace. The files stay, as ours, until the
--- caller removes them: `paths`. Those of a newer version are left alone.
---@return acp.Kept[] found the oldest first
---@return string[] paths
---@return string[] problems
---@return string|nil newer a file of a newer version
function M.take(cwd)
  local found, paths, problems, newer = {}, {}, {}, nil
  local files, others = listed()
  local hash = workspace(cwd)
  local function take(file)
    local path, problem = claim(file)
    problems[#problems + 1] = problem
    local ok, kept = pcall(read, path)
    if path and ok then
      found[#found + 1] = kept
      paths[#paths + 1] = path
    elseif path then
      uv.fs_rename(path, path .. '.damaged')
      problems[#problems + 1] = require('acp.base.messages').why_draft_damaged:format(path)
    end
  end
  for _, file in ipairs(files) do
    local path = M.directory() .. '/' .. file.name
    if file.gone and file.age <= OLD_S and file.workspace == hash then
      local is_other, is_newer = is_not_ours(path, cwd)
      if is_newer then
        newer = newer or path
      elseif not is_other then
        take(file)
      end
    end
  end
  sweep(files, others)
  return found, paths, problems, newer
end

return M
