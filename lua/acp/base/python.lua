--- The interpreter of the host: which one, whence, and the way out where it will not do.
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

--- The interpreter of the repository's `.venv`, whether it is there or not.
---@return string
function M.in_venv()
  local windows = vim.fn.has('win32') == 1
  return M.root() .. (windows and '/.venv/Scripts/python.exe' or '/.venv/bin/python')
end

--- The interpreter, in the order of the manual: option, the repository's `.venv`,
--- `g:python3_host_prog`, `python3`.
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
  return vim.uv.fs_stat(M.root() .. '/.venv') ~= nil and vim.uv.fs_stat(M.in_venv()) == nil
end

--- Advice where the interpreter cannot be used: `:Acp install` builds the `.venv`, which counts
--- less than the option.
---@return string
function M.way_out()
  local _, source = M.find()
  return source == 'option' and 'fix or remove the option `python`, then run :Acp install'
    or 'run :Acp install'
end

--- Why no process can be started with it, in one line; nil when one can.
---@return string|nil
function M.unusable()
  local path, source = M.find()
  if vim.fn.executable(path) == 1 then return nil end
  local what = M.broken() and source ~= 'option' and 'the .venv is broken' or 'Python not found'
  return ('%s, %s (%s: %s)'):format(what, M.way_out(), M.name(source), path)
end

return M
