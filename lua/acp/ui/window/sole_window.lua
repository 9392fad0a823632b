--- Acp windows of a tab page that has no window of the user. They accept any buffer, since there is
--- no other window to edit in. If one of several shows the user's buffer, the buffer is moved to a
--- window of its own. If it is the only one, it becomes the user's window.
local M = {}

local api = vim.api
local splits, set = require('acp.ui.win').splits, require('acp.ui.win').set

--- Side of the user's window, by the layout of chats.
local OPPOSITE = { right = 'left', left = 'right', top = 'below', bottom = 'above' }

local function fix(win, value)
  if vim.wo[win].winfixbuf ~= value then set(win, 'winfixbuf', value) end
end

--- Set 'winfixbuf' in the acp windows among the windows of a tab page if one is the user's.
---@param windows integer[]
local function fix_all(windows)
  local is_users = vim.iter(windows):any(function(win) return not vim.w[win].acp end)
  for _, win in ipairs(windows) do
    if vim.w[win].acp then fix(win, is_users) end
  end
end

--- Prepare for a window that is closing. If it is the user's last one, the acp windows have to
--- accept a buffer at once, since the same command line may open one. `update` checks later whether
--- the window has really closed.
local function prepare_close(closing)
  if not api.nvim_win_is_valid(closing) then return end
  local all = splits(api.nvim_win_get_tabpage(closing))
  local function is_left(win) return win ~= closing end
  fix_all(vim.tbl_filter(is_left, all))
end

--- Set 'winfixbuf' in all acp windows. Called after windows opened or closed.
local function update()
  for _, tab in ipairs(api.nvim_list_tabpages()) do
    fix_all(splits(tab))
  end
end

--- Show the user's buffer, which is in an acp window, in a window of its own. The acp window shows
--- the former buffer again.
local function move_out(win, bufnr)
  local former = vim.w[win].acp_buffer
  local is_there = api.nvim_win_is_valid(win) and api.nvim_win_get_buf(win) == bufnr
  if not is_there or not api.nvim_buf_is_valid(former) then return end
  local chat, win_of = require('acp.config').get().chat, require('acp.ui.win')
  local view = api.nvim_win_call(win, vim.fn.winsaveview)
  local is_current = win == api.nvim_get_current_win()
  local side = OPPOSITE[chat.layout] or 'left'
  local new = api.nvim_open_win(bufnr, is_current, { split = side, win = -1 })
  if side == 'left' or side == 'right' then
    local taken = require('acp.ui.window.placement').width_at_side(chat.size)
    api.nvim_win_set_width(new, vim.o.columns - taken - 1)
  end
  win_of.unfix(new)
  require('acp.ui.window.titles').reset_title(new)
  api.nvim_win_call(new, function() vim.fn.winrestview(view) end)
  api.nvim_win_set_buf(win, former)
end

--- Handle a buffer of the user in an acp window. `:edit!` and `:buffer!` show one in spite of
--- 'winfixbuf'; the window is then the user's. The list of a review is a location list.
local function on_buffer(bufnr)
  local win = api.nvim_get_current_win()
  local name = api.nvim_buf_get_name(bufnr)
  if not vim.w[win].acp or vim.startswith(name, 'acp://') then return end
  local is_fixed = vim.wo[win].winfixbuf
  if is_fixed and vim.bo[bufnr].buftype == 'quickfix' then return end
  if api.nvim_win_get_buf(win) ~= bufnr then return end
  local all = splits(0)
  if not is_fixed and #all > 1 and vim.list_contains(all, win) then
    return vim.schedule(function() move_out(win, bufnr) end)
  end
  vim.w[win].acp = nil
  require('acp.ui.window.titles').reset_title(win)
  require('acp.ui.win').unfix(win)
end

M.watch = require('acp.base.once')(function()
  local on = require('acp.base.autocmds').group('acp.sole_window')
  local update_soon = vim.schedule_wrap(update)
  on({ 'WinClosed', 'WinNew' }, function(args)
    if args.event == 'WinClosed' then prepare_close(tonumber(args.match) or -1) end
    update_soon()
  end)
  on('BufWinEnter', function(args) on_buffer(args.buf) end)
end)

return M
