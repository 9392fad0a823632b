--- Desktop notifications and the bell of the terminal in which Neovim runs.
local M = {}

--- Maximum number of cells of a notification.
local MESSAGE_CELLS = 200

--- Sequence of notifications by the name of a terminal.
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

--- Ring the bell of the terminal.
function M.bell()
  if require('acp.base.terminal').exists() then require('acp.base.compat').to_terminal('\7') end
end

--- Show a notification of the desktop, if the terminal can.
---@param message string
function M.notify(message)
  local notify = require('acp.base.notify')
  local title = notify.one_line(vim.fs.basename(vim.fn.getcwd())):gsub(';', ',')
  message = notify.cut(notify.one_line(message), MESSAGE_CELLS):gsub(';', ',')
  require('acp.base.terminal').ask(function(terminal)
    local sequence = terminal and SEQUENCES[terminal.name]
    if terminal and sequence then terminal.send(formats[sequence](title, message)) end
  end)
end

return M
