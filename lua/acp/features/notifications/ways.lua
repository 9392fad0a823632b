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
  if not ok then
    local message = require('acp.base.messages').notify_failed:format(reason)
    require('acp.base.notify').echo('warn', message)
  end
end

--- Notify the user in each way of the option.
---@param event acp.Notification
---@param shown? boolean whether Neovim has shown the message
function M.notify(event, shown)
  for _, way in ipairs(chosen()) do
    if type(way) == 'function' then
      call(way, vim.deepcopy(event))
    elseif way == 'bell' then
      require('acp.features.notifications.terminal').bell()
    elseif way == 'osc' then
      require('acp.features.notifications.terminal').notify(event.message)
    elseif not shown then
      require('acp.base.notify').echo('info', event.message)
    end
  end
end

return M
