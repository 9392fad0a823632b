--- The terminal in which Neovim runs: its name, and sequences for it.
---
--- The terminal is asked for its name (XTVERSION), because a terminal that does not know a sequence
--- could print it. tmux answers for itself, so it is asked for the name of its terminal and whether
--- it passes sequences on ('allow-passthrough').
local M = {}

--- Query for the name (XTVERSION).
M.NAME_QUERY = '\27[>0q'

--- Longest time that a terminal takes to answer.
local ANSWER_MS = 1000

---@class acp.Terminal
---@field name string first word of its name in lower case, such as `kitty`
---@field version integer[] numbers in the rest of its name, such as `{ 0, 40, 1 }`
---@field send fun(sequence: string) write a sequence to it, through tmux if necessary

--- Return whether a terminal has at least a version. Versions are compared number by number.
---@param terminal acp.Terminal
---@param since integer[]|nil nil if no version will do
---@return boolean
function M.has_version(terminal, since)
  if not since then return false end
  for i, number in ipairs(since) do
    local own = terminal.version[i] or 0
    if own ~= number then return own > number end
  end
  return true
end

---@return boolean
function M.exists()
  return vim.iter(vim.api.nvim_list_uis()):any(function(ui) return ui.stdout_tty end)
end

---@param sequence string
local function passed_through_tmux(sequence)
  return ('\27Ptmux;%s\27\\'):format(sequence:gsub('\27', '\27\27'))
end

--- Send a query. Call `on_answer` with each response from the terminal until it returns true or the
--- time is over. Then call `on_end`.
---@param query string
---@param on_answer fun(response: string): boolean|nil
---@param on_end? fun()
---@param most_ms? integer a second by default
function M.query(query, on_answer, on_end, most_ms)
  local on, group = require('acp.base.autocmds').group('acp.terminal.' .. vim.uv.hrtime())
  local function stop()
    if not group then return end
    pcall(vim.api.nvim_del_augroup_by_id, group)
    group = nil
    if on_end then on_end() end
  end
  on('TermResponse', function(args)
    local response = type(args.data) == 'table' and args.data.sequence or args.data
    if type(response) == 'string' and on_answer(response) then stop() end
  end)
  vim.defer_fn(stop, most_ms or ANSWER_MS)
  require('acp.base.compat').to_terminal(query)
end

---@param answer string for example `kitty(0.40.1)` or `WezTerm 20240203`
---@param wrap fun(sequence: string): string
---@return acp.Terminal
local function new_terminal(answer, wrap)
  local name, rest = answer:match('^(%w*)(.*)')
  local version = {}
  for number in rest:gmatch('%f[%d]%d+') do
    version[#version + 1] = tonumber(number)
  end
  return {
    name = name:lower(),
    version = version,
    send = function(sequence) require('acp.base.compat').to_terminal(wrap(sequence)) end,
  }
end

local function unchanged(sequence) return sequence end

--- Return the terminal that a response to `NAME_QUERY` names.
---@param response string
---@return acp.Terminal|nil
function M.parse_response(response)
  local name = response:match('^\27P>|(.*)')
  return name and new_terminal(name, unchanged) or nil
end

--- Return a terminal whose name is unknown.
---@return acp.Terminal
function M.new_unnamed() return new_terminal('', unchanged) end

--- Call `fn` with the terminal in which tmux runs, nil if tmux does not pass sequences on.
---@param fn fun(terminal: acp.Terminal|nil)
local function ask_tmux(fn)
  local format = '#{allow-passthrough} #{client_termtype}'
  local command = { 'tmux', 'display-message', '-p', '-t', vim.env.TMUX_PANE, format }
  local ok = pcall(vim.system, command, { text = true, timeout = ANSWER_MS }, function(done)
    local passes, name = (done.stdout or ''):match('^(%w+) ([^\n]*)')
    local is_passed = vim.tbl_contains({ '1', 'on', 'all' }, passes)
    vim.schedule(function() fn(is_passed and new_terminal(name, passed_through_tmux) or nil) end)
  end)
  if not ok then fn(nil) end
end

--- Call `fn` with the terminal, or nil if it does not report its name within a second. Windows
--- Terminal is recognized by an environment variable.
---@param fn fun(terminal: acp.Terminal|nil)
function M.ask(fn)
  if not M.exists() then return fn(nil) end
  local terminal ---@type acp.Terminal|nil
  M.query(M.NAME_QUERY, function(response)
    terminal = M.parse_response(response)
    return terminal ~= nil
  end, function()
    if terminal and terminal.name == 'tmux' and vim.env.TMUX_PANE then return ask_tmux(fn) end
    local is_windows = not terminal and vim.env.WT_SESSION and not vim.env.TMUX
    fn(is_windows and new_terminal('windows', unchanged) or terminal)
  end)
end

return M
