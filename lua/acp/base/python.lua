--- The interpreter of the host: which one, whence, and the way out where it will not do. While this
--- file loads nothing is required: `install.lua` loads it by its path.
local M = {}

---@alias acp.PythonSource 'option'|'venv'|'g:python3_host_prog'|'PATH'

local names = {
  option = 'option `python`',
  venv = "the repository's .venv",
  ['g:python3_host_prog'] = 'g:python3_host_prog',
  PATH = 'PATH',
}

--- The repository this file belongs to.
---@return string
function M.root()
  return vim.fs.dirname(
    vim.fs.dirname(vim.fs.dirname(vim.fs.dirname(debug.getinfo(1, 'S').source:sub(2))))
  )
end

--- Whether files can be made in the repository: not where a distribution or Nix has put it.
function M.can_write() return vim.uv.fs_access(M.root(), 'W') == true end

--- The environment that `:Acp install` makes: the repository's `.venv`, or one in stdpath('data')
--- where nothing can be written in the repository.
---@return string path
function M.venv()
  local own = M.root() .. '/.venv'
  if M.can_write() or vim.uv.fs_stat(own) then return own end
  return vim.fs.joinpath(vim.fn.stdpath('data'), 'acp', 'venv')
end

--- Its interpreter, whether it is there or not.
---@return string
function M.in_venv()
  return M.venv() .. (vim.fn.has('win32') == 1 and '/Scripts/python.exe' or '/bin/python')
end

--- How the host is started: what Python compiles goes where it can be written.
---@param python string
---@param ... string arguments
---@return string[]
function M.argv(python, ...)
  if M.can_write() then return { python, ... } end
  local compiled = vim.fs.joinpath(vim.fn.stdpath('cache'), 'acp', 'pycache')
  return { python, '-X', 'pycache_prefix=' .. compiled, ... }
end

--- The interpreter, in the order of the manual: option, the `.venv`, `g:python3_host_prog`,
--- `python3`.
---@return string path
---@return acp.PythonSource source
function M.find()
  local configured = require('acp.config').get().python
  if configured then return vim.fn.expand(configured), 'option' end
  local venv = M.in_venv()
  if vim.uv.fs_stat(venv) then return venv, 'venv' end
  if vim.g.python3_host_prog then
    return vim.fn.expand(vim.g.python3_host_prog), 'g:python3_host_prog'
  end
  return 'python3', 'PATH'
end

--- A source for people.
---@param source acp.PythonSource
---@return string
function M.name(source) return names[source] end

--- Whether there is a `.venv` whose interpreter is gone, as after an update of the system.
function M.broken()
  local stat = vim.uv.fs_stat
  return stat(M.venv()) ~= nil and stat(M.in_venv()) == nil
end

--- Advice where the interpreter cannot be used: `:Acp install` builds the `.venv`, which counts
--- less than the option.
---@return string
function M.way_out()
  local _, source = M.find()
  local messages = require('acp.base.messages')
  return source == 'option' and messages.fix_option or messages.run_install
end

--- Why no process can be started with it, in one line; nil when one can.
---@return string|nil
function M.unusable()
  local path, source = M.find()
  if vim.fn.executable(path) == 1 then return nil end
  local messages, way_out = require('acp.base.messages'), M.way_out()
  if M.broken() and source ~= 'option' then
    return messages.venv_way_out:format(messages.venv_broken, way_out)
  end
  return messages.python_not_found:format(path, way_out)
end

return M
