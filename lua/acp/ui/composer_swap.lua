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
      local opts = { layout = 'bottom', options = composer.options }
      window.replace(win, composer.ensure(new), opts)
    end
  end
end

--- Whether a split has something between it and the one above.
local function apart(upper, lower)
  local above, below = api.nvim_win_get_position(upper), api.nvim_win_get_position(lower)
  return above[2] ~= below[2] or above[1] + api.nvim_win_get_height(upper) + 1 ~= below[1]
end

--- Chat `n` is shown: a composer that stands alone joins it, and so does that of a chat below which
--- this one has come.
function M.opened(n)
  local buffers, window = require('acp.ui.chat.buffers'), require('acp.ui.window')
  local composer, floats = require('acp.ui.composer'), require('acp.ui.win').floats
  composer.join(n)
  for other in pairs(buffers.chats) do
    local upper, lower = window.showing(buffers.bufnr(other)), window.showing(composer.bufnr(other))
    local both = other ~= n and upper and lower and not floats(upper) and not floats(lower)
    if both and apart(upper, lower) then composer.join(other) end
  end
end

return M
