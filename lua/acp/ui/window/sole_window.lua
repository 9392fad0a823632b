--- Acp windows that are the only window of their tab page. Such a window accepts any buffer, since
--- there is no other window to edit in. It becomes the user's when it shows one of their buffers.
local M = {}

local splits, set = require('acp.ui.win').splits, require('acp.ui.win').set

local function fix(win, value)
  if vim.wo[win].winfixbuf ~= value then set(win, 'winfixbuf', value) end
end

--- Prepare for a window that is closing. An acp window that becomes the only one has to accept a
--- buffer at once, since the same command line may open one. `update` checks later whether the
--- other window has really closed.
local function prepare_close(closing)
  if not vim.api.nvim_win_is_valid(closing) then return end
  local left = splits(vim.api.nvim_win_get_tabpage(closing))
  left = vim.tbl_filter(function(win) return win ~= closing end, left)
  if #left == 1 and vim.w[left[1]].acp then fix(left[1], false) end
end

--- Set 'winfixbuf' in all acp windows except those that are alone. Called after windows opened or
--- closed.
local function update()
  for _, tab in ipairs(vim.api.nvim_list_tabpages()) do
    local all = splits(tab)
    for _, win in ipairs(all) do
      if vim.w[win].acp then fix(win, #all > 1) end
    end
  end
end

--- Give a window to the user when it shows one of their buffers. `:edit!` and `:buffer!` show one
--- in spite of 'winfixbuf'. The list of a review is a location list.
local function on_buffer(bufnr)
  local win = vim.api.nvim_get_current_win()
  local name = vim.api.nvim_buf_get_name(bufnr)
  if not vim.w[win].acp or vim.startswith(name, 'acp://') then return end
  if vim.wo[win].winfixbuf and vim.bo[bufnr].buftype == 'quickfix' then return end
  if vim.api.nvim_win_get_buf(win) == bufnr then
    vim.w[win].acp = nil
    require('acp.ui.window.titles').reset_title(win)
    require('acp.ui.win').unfix(win)
  end
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
