--- A tab page that is left with the cursor in a float. When the float closes meanwhile, Neovim
--- (0.11.4) makes the tab page's previous window its current one, even where that is the same
--- float: it crashes on the way back. So a tab page that is left has an ordinary previous window.
local M = {}

local api = vim.api

---@param win integer
---@return boolean
local function floats(win)
  return api.nvim_win_get_config(win).relative ~= ''
end

---@param tab integer
---@return integer win
local function ordinary(tab)
  return vim.iter(api.nvim_tabpage_list_wins(tab)):find(function(win)
    return not floats(win)
  end)
end

--- The current tab page is about to be left.
local function leave()
  local here = api.nvim_get_current_win()
  local previous = vim.fn.win_getid(vim.fn.winnr('#'))
  if not floats(here) or (previous ~= 0 and previous ~= here and not floats(previous)) then
    return
  end
  local ignored = vim.o.eventignore
  vim.o.eventignore = 'all'
  pcall(api.nvim_set_current_win, ordinary(0))
  pcall(api.nvim_set_current_win, here)
  vim.o.eventignore = ignored
end

--- Look after tab pages from now on.
M.watch = require('acp.base.once')(function()
  api.nvim_create_autocmd('TabLeave', {
    group = api.nvim_create_augroup('acp.float_exit', {}),
    callback = leave,
  })
end)

--- A window is about to be closed; in another tab page, left without autocommands, it may be such a
--- float.
---@param win integer
function M.before_close(win)
  local tab = api.nvim_win_get_tabpage(win)
  local elsewhere = tab ~= api.nvim_get_current_tabpage()
  if elsewhere and floats(win) and api.nvim_tabpage_get_win(tab) == win then
    api.nvim_tabpage_set_win(tab, ordinary(tab))
  end
end

return M
