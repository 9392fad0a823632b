--- The host's Python interpreter: its path, its source, and advice if it cannot be used. This file
--- requires no module at load time because `environment.lua` loads it by path.
local M = {}

---@alias acp.PythonSource 'option'|'venv'|'g:python3_host_prog'|'PATH'

local names = {
  option = 'option `python`',
  venv = "the repository's .venv",
  ['g:python3_host_prog'] = 'g:python3_host_prog',
  PATH = 'PATH',
}

--- Return the repository that contains this file. luarocks keeps the Lua files of a rock elsewhere;
--- the rest of it is on 'runtimepath'.
---@return string
function M.root()
  local folder = vim.fs.dirname(debug.getinfo(1, 'S').source:sub(2))
  local own = vim.fs.dirname(vim.fs.dirname(vim.fs.dirname(vim.fs.dirname(folder))))
  if vim.uv.fs_stat(own .. '/pyproject.toml') then return own end
  local main = vim.api.nvim_get_runtime_file('acp_nvim/__main__.py', false)[1]
  return main and vim.fs.dirname(vim.fs.dirname(main)) or own
end

--- Return whether the repository is writable. It is not if a distribution or Nix installed it.
function M.can_write() return vim.uv.fs_access(M.root(), 'W') == true end

--- Return the environment that `:Acp install` creates: the repository's `.venv`, or one in
--- stdpath('data') if the repository is read-only.
---@return string path
function M.venv()
  local own = M.root() .. '/.venv'
  if M.can_write() or vim.uv.fs_stat(own) then return own end
  return vim.fs.joinpath(vim.fn.stdpath('data'), 'acp', 'venv')
end

--- Return the path of the interpreter in `.venv`, which may not exist.
---@return string
function M.in_venv()
  return M.venv() .. (vim.fn.has('win32') == 1 and '/Scripts/python.exe' or '/bin/python')
end

--- Return a command line for Python. In a read-only repository, compiled files go to
--- stdpath('cache').
---@param python string
---@param ... string arguments
---@return string[]
function M.argv(python, ...)
  if M.can_write() then return { python, ... } end
  local compiled = vim.fs.joinpath(vim.fn.stdpath('cache'), 'acp', 'pycache')
  return { python, '-X', 'pycache_prefix=' .. compiled, ... }
end

--- Return the interpreter to use. The order is documented in the manual: option, `.venv`,
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

--- Return the name of a source for messages.
---@param source acp.PythonSource
---@return string
function M.name(source) return names[source] end

--- Return whether the `.venv` exists but its interpreter does not, as after a system update.
function M.is_broken()
  local stat = vim.uv.fs_stat
  return stat(M.venv()) ~= nil and stat(M.in_venv()) == nil
end

--- Return advice for a missing or broken `.venv`.
---@return string
function M.venv_advice()
  local messages = require('acp.base.messages')
  local is_installing = require('acp.base.signals').emit('is_installing')
  return is_installing and messages.await_install or messages.run_install
end

--- Return advice for an unusable interpreter. `:Acp install` does not help if the option is set,
--- because the option takes precedence over the `.venv`.
---@return string
function M.advice()
  local _, source = M.find()
  return source == 'option' and require('acp.base.messages').fix_option or M.venv_advice()
end

--- Return why the interpreter cannot be started, in one line, or nil if it can. The path comes last
--- because the line may be cut.
---@return string|nil
function M.why_unusable()
  local path, source = M.find()
  if vim.fn.executable(path) == 1 then return nil end
  local messages, way_out = require('acp.base.messages'), M.advice()
  if M.is_broken() and source ~= 'option' then
    return messages.venv_way_out:format(messages.venv_broken, way_out)
  end
  return messages.python_not_found:format(way_out, path)
end

return M
