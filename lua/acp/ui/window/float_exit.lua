--- Workaround for a crash of Neovim 0.11.4 with a float in another tab page. If the user leaves a
--- tab page from a float that then closes, Neovim makes the previous window current there, even if
--- that is the same float, and crashes when the user returns. So this module makes an ordinary
--- window the previous one before the user leaves a tab page.
local M = {}

local api = vim.api

local win_of = require('acp.ui.win')
local is_float, splits = win_of.is_float, win_of.splits

--- Make an ordinary window the previous one, because the user is about to leave the tab page.
local function fix_previous()
  local here = api.nvim_get_current_win()
  local previous = win_of.previous()
  if not is_float(here) or (previous and previous ~= here and not is_float(previous)) then
    return
  end
  win_of.set_previous(splits(0)[1])
end

M.watch = require('acp.base.once')(
  function() require('acp.base.autocmds').group('acp.float_exit')('TabLeave', fix_previous) end
)

--- Make an ordinary window current if `win`, which is about to close, is a current float of another
--- tab page. This happens if the user left the tab page while autocommands were off.
function M.before_close(win)
  local tab = api.nvim_win_get_tabpage(win)
  local is_in_other_tab = tab ~= api.nvim_get_current_tabpage()
  if is_in_other_tab and is_float(win) and api.nvim_tabpage_get_win(tab) == win then
    api.nvim_tabpage_set_win(tab, splits(tab)[1])
  end
end

return M
