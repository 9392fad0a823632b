--- The composer of a chat stands below it: where another chat takes the window, its composer takes
--- the other's, or what is typed there goes to a session that is not seen.
local M = {}

local api = vim.api

--- Chat `new` stands where chat `old` was. A composer in which the user is stays.
---@param old integer our number of the session
---@param new integer
function M.changed(old, new)
  local window, composer = require('acp.ui.window'), require('acp.ui.composer')
  local before = composer.bufnr(old)
  if not before or window.showing(require('acp.ui.chat.buffers').bufnr(old)) then return end
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    local idle = vim.w[win].acp and win ~= api.nvim_get_current_win()
    if idle and api.nvim_win_get_buf(win) == before then
      window.replace(win, composer.ensure(new), { layout = 'bottom' })
    end
  end
end

--- Chat `n` is shown: a composer that stands alone joins it.
function M.opened(n) require('acp.ui.composer').join(n) end

return M
