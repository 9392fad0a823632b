--- Colours of the plugin's windows on a small screen. A completion menu for which Neovim finds less
--- than two rows is not drawn. The next change of a highlight draws it, and Neovim 0.10 to 0.12
--- crash, since the list of items is missing. If any window has 'winhighlight', each redraw changes
--- highlights. So the plugin's windows have none while a menu might not fit.
local M = {}

local api = vim.api

--- Number of rows of the screen in which a menu always has two rows, although Neovim leaves up to
--- three rows of a wrapped line uncovered.
local ENOUGH_ROWS = 9

--- Return whether a completion menu in the current window may have no room.
---@return boolean
function M.is_scarce()
  local top, bottom = 0, vim.o.lines - vim.o.cmdheight
  local own = api.nvim_win_get_position(0)[1]
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    if vim.wo[win].previewwindow then
      local row = api.nvim_win_get_position(win)[1]
      if row < own then top = row + api.nvim_win_get_height(win) end
      if row > own then bottom = row end
    end
  end
  return bottom - top < ENOUGH_ROWS
end

local is_applied = false -- whether windows have lost their 'winhighlight'

local function apply(win)
  local value = is_applied and '' or vim.w[win].acp_colors
  api.nvim_set_option_value('winhighlight', value, { scope = 'local', win = win })
end

local function update()
  if M.is_scarce() == is_applied then return end
  is_applied = not is_applied
  for _, win in ipairs(api.nvim_list_wins()) do
    if vim.w[win].acp_colors then apply(win) end
  end
end

local watch = require('acp.base.once')(function()
  local on = require('acp.base.autocmds').group('acp.menu_room')
  on({ 'VimResized', 'WinResized', 'WinEnter' }, update)
  update()
end)

--- Set 'winhighlight' of a window, now or as soon as a menu has room.
---@param value string
function M.set_colors(win, value)
  watch()
  vim.w[win].acp_colors = value
  apply(win)
end

return M
