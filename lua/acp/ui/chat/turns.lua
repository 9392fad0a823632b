--- The turns of a chat, to go through.
local M = {}

local api = vim.api

--- Jump to the next (1) or previous (-1) turn of the chat that the current window shows.
---@param direction 1|-1
function M.go(direction)
  local chat = require('acp.ui.chat.buffers').of(api.nvim_get_current_buf())
  if not chat then
    return
  end
  local row = api.nvim_win_get_cursor(0)[1] - 1
  local best
  for _, at in ipairs(require('acp.ui.chat.marks').rows(chat, 'turn')) do
    if (at - row) * direction > 0 then
      if direction > 0 then
        best = best or at
      else
        best = at
      end
    end
  end
  if best then
    vim.cmd("normal! m'")
    api.nvim_win_set_cursor(0, { best + 1, 0 })
  end
end

return M
