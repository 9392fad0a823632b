--- Notifications about questions.
local M = {}

---@param session integer|nil
---@param message string
---@param shown boolean whether Neovim has shown the message
function M.on_announced(session, message, shown)
  if vim.g.acp_focused ~= false then return end
  local event = { kind = 'question', session = session, message = message }
  require('acp.features.notifications.ways').notify(event, shown)
end

return M
