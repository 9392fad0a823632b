--- Ways to notify the user (option `notify`).
local M = {}

---@class acp.Notification
---@field kind 'turn'|'question'
---@field session integer|nil
---@field message string one line

---@alias acp.NotifyWay 'vim'|'osc'|'bell'|fun(event: acp.Notification)

local DEFAULT = { 'vim', 'osc' }

---@return acp.NotifyWay[]
local function chosen()
  local option = require('acp.config').get().notify
  if type(option) == 'table' then return option end
  if type(option) == 'boolean' then return option and DEFAULT or {} end
  return { option }
end

---@param way function of the user
local function call(way, event)
  local ok, reason = pcall(way, event)
  if not ok then require('acp.base.notify').show('warn', 'notify_failed', reason) end
end

--- Maximum width of a notification, in cells.
local MESSAGE_CELLS = 200

--- Number of the escape sequence (OSC) for notifications, by the name of the terminal.
---@type table<string, '9'|'99'|'777'>
local SEQUENCES = {
  contour = '777',
  foot = '777',
  ghostty = '777',
  iterm2 = '9',
  kitty = '99',
  konsole = '777',
  rio = '777',
  vte = '777', -- shown by builds with Fedora's patch, ignored by the others
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
local function ring_bell()
  if require('acp.base.terminal').exists() then require('acp.base.compat').to_terminal('\7') end
end

--- Show a desktop notification, if the terminal can.
---@param message string
local function notify_desktop(message)
  local notify = require('acp.base.notify')
  local title = notify.one_line(vim.fs.basename(vim.fn.getcwd())):gsub(';', ',')
  message = notify.cut(notify.one_line(message), MESSAGE_CELLS):gsub(';', ',')
  require('acp.base.terminal').ask(function(terminal)
    local sequence = terminal and SEQUENCES[terminal.name]
    if terminal and sequence then terminal.send(formats[sequence](title, message)) end
  end)
end

--- Notify the user in each way of the option.
---@param event acp.Notification
---@param shown? boolean whether Neovim has shown the message
function M.notify(event, shown)
  for _, way in ipairs(chosen()) do
    if type(way) == 'function' then
      call(way, vim.deepcopy(event))
    elseif way == 'bell' then
      ring_bell()
    elseif way == 'osc' then
      notify_desktop(event.message)
    elseif not shown then
      require('acp.base.notify').echo('info', event.message)
    end
  end
end

return M
