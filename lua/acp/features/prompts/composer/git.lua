--- File lists from git. `ls-files` runs in a git directory of the plugin's own because the config,
--- hooks and promisor remotes of an untrusted repository can start programs. In the repository
--- itself only `rev-parse` and `config` run, which start none. `files/checkpoints/private_git.py`
--- does the same in Python.
local M = {}

local TIMEOUT_MS = 10000
local NULL = vim.fn.has('win32') == 1 and 'NUL' or '/dev/null'

local folder ---@type string|nil in Neovim's own temporary directory

--- Return an empty git directory.
local function empty_git_dir()
  if not folder or vim.fn.isdirectory(folder) == 0 then
    folder = vim.fn.tempname()
    vim.fn.mkdir(folder .. '/refs', 'p')
    vim.fn.mkdir(folder .. '/objects', 'p')
    vim.fn.writefile({ 'ref: refs/heads/none' }, folder .. '/HEAD')
  end
  return folder
end

--- Return the environment without git's variables. PATH keeps only absolute directories, so that no
--- program of the current directory runs.
---@return table<string, string>
function M.environment()
  local windows = vim.fn.has('win32') == 1
  local env = {}
  for name, value in pairs(vim.fn.environ()) do
    if not vim.startswith(name, 'GIT_') then env[name] = value end
  end
  local separator = windows and ';' or ':'
  local folders = vim.split(env.PATH or '', separator, { plain = true })
  local function absolute(at)
    return vim.startswith(at, '/') or windows and at:match('^%a:[/\\]') ~= nil
  end
  env.PATH = table.concat(vim.tbl_filter(absolute, folders), separator)
  env.GIT_OPTIONAL_LOCKS, env.GIT_TERMINAL_PROMPT = '0', '0'
  env.GIT_NO_LAZY_FETCH, env.GIT_ALLOW_PROTOCOL = '1', ''
  return env
end

---@param env table<string, string>
---@param on_end fun(output: string|nil)
local function git(cwd, args, env, on_end)
  local argv = { 'git', '-c', 'core.fsmonitor=false', '-c', 'core.hooksPath=' .. NULL }
  vim.list_extend(argv, args)
  env = require('acp.base.compat').whole_env(env)
  local opts = { cwd = cwd, timeout = TIMEOUT_MS, env = env, clear_env = true }
  local function ended(result) on_end(result.code == 0 and result.stdout or nil) end
  if not pcall(vim.system, argv, opts, vim.schedule_wrap(ended)) then on_end(nil) end
end

--- Paths of a repository to ask `rev-parse` for, in this order.
local PLACES = { '--show-toplevel', 'index', 'objects', 'info/exclude' }

---@param env table<string, string>
---@param on_end fun(top: string|nil, index: string, objects: string, exclude: string)
local function locate(cwd, env, on_end)
  local args = { 'rev-parse', '--path-format=absolute', PLACES[1] }
  for i = 2, #PLACES do
    vim.list_extend(args, { '--git-path', PLACES[i] })
  end
  git(cwd, args, env, function(output)
    local paths = vim.split(vim.trim(output or ''), '\r?\n')
    on_end(#paths == #PLACES and paths[1] or nil, paths[2], paths[3], paths[4])
  end)
end

--- List the tracked and the untracked but not ignored files below a directory. Paths are relative
--- to it and end with a NUL.
---@param on_end fun(output: string|nil) nil without a repository or without git
function M.list(cwd, on_end)
  local env = M.environment()
  locate(cwd, env, function(top, index, objects, exclude)
    if not top then return on_end(nil) end
    git(cwd, { 'config', '--type=path', '--get', 'core.excludesFile' }, env, function(ignore)
      local config_home = env.XDG_CONFIG_HOME or vim.fs.normalize('~/.config')
      ignore = ignore and vim.trim(ignore) or config_home .. '/git/ignore'
      local args = { 'ls-files', '-z', '--cached', '--others', '--deduplicate' }
      table.insert(args, '--exclude-per-directory=.gitignore')
      for _, path in ipairs({ ignore, exclude }) do -- the later one wins
        if vim.fn.filereadable(path) == 1 then table.insert(args, '--exclude-from=' .. path) end
      end
      env.GIT_DIR, env.GIT_WORK_TREE = empty_git_dir(), top
      env.GIT_INDEX_FILE, env.GIT_OBJECT_DIRECTORY = index, objects
      env.GIT_CONFIG_NOSYSTEM, env.GIT_CONFIG_GLOBAL = '1', NULL
      git(cwd, args, env, on_end)
    end)
  end)
end

return M
