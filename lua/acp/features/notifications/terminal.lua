--- Desktop notifications and the bell of the terminal in which Neovim runs.
---
--- The terminal is asked for its name (XTVERSION), because a terminal that does not know a sequence
--- could print it. tmux answers for itself, so it is asked for the name of its terminal and whether
--- it passes sequences on ('allow-passthrough').
local M = {}

--- Longest time that a terminal takes to answer.
local ANSWER_MS = 1000

--- Maximum number of cells of a notification.
local MESSAGE_CELLS = 200

--- Sequence of notifications by the first word of a terminal's name, in lower case.
---@type table<string, '9'|'99'|'777'>
local SEQUENCES = {
  contour = '777',
  foot = '777',
  ghostty = '777',
  iterm2 = '9',
  kitty = '99',
  konsole = '777',
  rio = '777',
  wezterm = '777',
}

---@type table<string, fun(title: string, body: string): string>
local formats = {
  ['9'] = function(title, body) return ('\27]9;%s: %s\27\\'):format(title, body) end,
  ['99'] = function(title, body)
    local head = ('\27]99;i=acp:d=0:p=title;%s\27\\'):format(title)
    return head .. ('\27]99;i=acp:p=body;%s\27\\'):format(body)
  end,
  ['777'] = function(title, body) return ('\27]777;notify;%s;%s\27\\'):format(title, body) end,
}

local function in_terminal()
  return vim.iter(vim.api.nvim_list_uis()):any(function(ui) return ui.stdout_tty end)
end

---@param sequence string
local function passed_through_tmux(sequence)
  return ('\27Ptmux;%s\27\\'):format(sequence:gsub('\27', '\27\27'))
end

--- Call `fn` with the name of the terminal, if it answers.
---@param fn fun(name: string)
local function ask(fn)
  local on, group = require('acp.base.autocmds').group('acp.terminal_name')
  local function stop() pcall(vim.api.nvim_del_augroup_by_id, group) end
  on('TermResponse', function(args)
    local answer = type(args.data) == 'table' and args.data.sequence or args.data
    local name = type(answer) == 'string' and answer:match('^\27P>|(.*)')
    if name then
      stop()
      fn(name)
    end
  end)
  vim.defer_fn(stop, ANSWER_MS)
  require('acp.base.compat').to_terminal('\27[>0q')
end

---@param name string for example `kitty(0.40.1)` or `WezTerm 20240203`
---@return string|nil
local function sequence_of(name) return SEQUENCES[name:lower():match('^%w+') or ''] end

--- Call `fn` with the name of the terminal in which tmux runs, if tmux passes sequences on.
---@param fn fun(name: string)
local function ask_tmux(fn)
  local format = '#{allow-passthrough} #{client_termtype}'
  local command = { 'tmux', 'display-message', '-p', '-t', vim.env.TMUX_PANE, format }
  pcall(vim.system, command, { text = true, timeout = ANSWER_MS }, function(done)
    local passes, name = (done.stdout or ''):match('^(%w+) ([^\n]*)')
    if vim.tbl_contains({ '1', 'on', 'all' }, passes) then vim.schedule_wrap(fn)(name) end
  end)
end

--- Ring the bell of the terminal.
function M.bell()
  if in_terminal() then require('acp.base.compat').to_terminal('\7') end
end

--- Show a notification of the desktop, if the terminal can.
---@param message string
function M.notify(message)
  if not in_terminal() then return end
  local notify = require('acp.base.notify')
  local title = notify.one_line(vim.fs.basename(vim.fn.getcwd())):gsub(';', ',')
  message = notify.cut(notify.one_line(message), MESSAGE_CELLS):gsub(';', ',')
  local function send(name, wrap)
    local sequence = sequence_of(name)
    if sequence then
      require('acp.base.compat').to_terminal(wrap(formats[sequence](title, message)))
    end
  end
  ask(function(name)
    if name:match('^tmux') and vim.env.TMUX_PANE then
      ask_tmux(function(outer) send(outer, passed_through_tmux) end)
    else
      send(name, function(sequence) return sequence end)
    end
  end)
end

return M
