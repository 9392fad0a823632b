--- Composers that follow their chats: they are hidden and shown with them. When another chat
--- replaces a chat in its window, its composer replaces the one below. Otherwise text typed there
--- would go to a session that is not visible.
local M = {}

local api = vim.api
local composers = require('acp.features.prompts.composer.composers')

--- Replace the composer below chat `new`, which has replaced chat `old`. A composer in the current
--- window is replaced only if the user asked for the other chat.
---@param old integer session number
---@param new integer
---@param by_user boolean
function M.replace(old, new, by_user)
  local window = require('acp.ui.window')
  local before = composers.bufnr(old)
  if not before or window.showing(require('acp.ui.chats').bufnr(old)) then return end
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    local can_go = vim.w[win].acp and (by_user or win ~= api.nvim_get_current_win())
    if can_go and api.nvim_win_get_buf(win) == before then
      local bufnr = require('acp.features.prompts.composer').ensure(new)
      window.replace(win, bufnr, { layout = 'bottom' })
      require('acp.features.prompts.composer.decoration').draw(new)
    end
  end
end

local hidden = {} ---@type table<integer, boolean> composers that were hidden with their chats

--- Close the window of composer `n`, whose chat is being hidden. The composer keeps its text.
function M.hide(n)
  local window = require('acp.ui.window')
  local win = window.showing(composers.bufnr(n))
  hidden[n] = win ~= nil
  if win == api.nvim_get_current_win() then
    vim.cmd.stopinsert()
    window.leave()
  else
    window.close(win)
  end
end

--- Show composer `n` if it was hidden with its chat. The focus does not move.
function M.show_again(n)
  if hidden[n] and not require('acp.ui.window').showing(composers.bufnr(n)) then
    require('acp.features.prompts.composer').show(n)
  end
end

--- Return whether two splits are not directly below each other.
local function are_apart(upper, lower)
  local above, below = api.nvim_win_get_position(upper), api.nvim_win_get_position(lower)
  return above[2] ~= below[2] or above[1] + api.nvim_win_get_height(upper) + 1 ~= below[1]
end

--- Move composers after chat `n` was opened: its own below it, and those of other chats that the
--- new window has separated from their composers.
function M.on_opened(n)
  local windows = package.loaded['acp.features.prompts.composer.window']
  if not windows then return end -- there are no composers yet
  local chats, window = require('acp.ui.chats'), require('acp.ui.window')
  local is_float = require('acp.ui.win').is_float
  windows.join(n)
  for other in pairs(chats.chats) do
    local upper, lower = window.showing(chats.bufnr(other)), window.showing(composers.bufnr(other))
    local both = other ~= n and upper and lower and not is_float(upper) and not is_float(lower)
    if both and are_apart(upper, lower) then windows.join(other) end
  end
end

return M
