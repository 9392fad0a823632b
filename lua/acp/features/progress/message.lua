--- Progress as a message of Neovim (|progress-message|, 0.12).
local M = {}

local id ---@type integer|string|nil

---@param state acp.Progress
function M.show(state)
  if vim.fn.has('nvim-0.12') == 0 then return end
  local has_ended = state == 'none'
  local messages = require('acp.base.messages')
  local text = has_ended and messages.progress_ended
    or state == 'waiting' and messages.progress_waiting
    or messages.progress_working
  local shown = vim.api.nvim_echo({ { text } }, false, {
    kind = 'progress',
    id = id,
    source = 'acp.nvim',
    title = 'acp',
    status = has_ended and 'success' or 'running',
    percent = has_ended and 100 or 0, -- required by Neovim's own listener
  })
  id = not has_ended and shown or nil
end

return M
