--- A tab page that is left with the cursor in a float. When the float closes meanwhile, Neovim
--- (0.11.4) makes the tab page's previous window its current one, even where that is the same
--- float: it crashes on the way back. So a tab page that is left has an ordinary previous window.
local M = {}

local api = vim.api

local floats, splits = require('acp.ui.win').floats, require('acp.ui.win').splits

--- The current tab page is about to be left.
local function leave()
  local here = api.nvim_get_current_win()
  local previous = require('acp.ui.win').previous()
  if not floats(here) or (previous and previous ~= here and not floats(previous)) then return end
  require('acp.base.options').with(vim.go, { eventignore = 'all' }, function()
    pcall(api.nvim_set_current_win, splits(0)[1])
    pcall(api.nvim_set_current_win, here)
  end)
end

--- Look after tab pages from now on.
M.watch = require('acp.base.once')(
  function() require('acp.base.autocmds').group('acp.float_exit')('TabLeave', leave) end
)

--- A window is about to be closed; in another tab page, left without autocommands, it may be such a
--- float.
function M.before_close(win)
  local tab = api.nvim_win_get_tabpage(win)
  local elsewhere = tab ~= api.nvim_get_current_tabpage()
  if elsewhere and floats(win) and api.nvim_tabpage_get_win(tab) == win then
    api.nvim_tabpage_set_win(tab, splits(tab)[1])
  end
end

return M
