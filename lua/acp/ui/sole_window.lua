--- A window of ours that is the last one of its tab page: there is no other to edit in, so it lets
--- any buffer in, and is the user's as soon as a buffer of theirs is there.
local M = {}

local splits, set = require('acp.ui.win').splits, require('acp.ui.win').set

local function fix(win, value)
  if vim.wo[win].winfixbuf ~= value then set(win, 'winfixbuf', value) end
end

--- A window closes: what is left alone has to let in what the next word of the same command line
--- opens. Whether it really closes is looked at afterwards.
local function left_by(closing)
  if not vim.api.nvim_win_is_valid(closing) then return end
  local left = splits(vim.api.nvim_win_get_tabpage(closing))
  left = vim.tbl_filter(function(win) return win ~= closing end, left)
  if #left == 1 and vim.w[left[1]].acp then fix(left[1], false) end
end

--- Windows came or went: those of ours are fixed unless they are alone.
local function look()
  for _, tab in ipairs(vim.api.nvim_list_tabpages()) do
    local all = splits(tab)
    for _, win in ipairs(all) do
      if vim.w[win].acp then fix(win, #all > 1) end
    end
  end
end

--- Another buffer is in a window: where it is none of ours the window is none of ours either.
local function entered(bufnr)
  local win = vim.api.nvim_get_current_win()
  local name = vim.api.nvim_buf_get_name(bufnr)
  if not vim.w[win].acp or vim.wo[win].winfixbuf or vim.startswith(name, 'acp://') then return end
  if vim.api.nvim_win_get_buf(win) == bufnr then
    vim.w[win].acp = nil
    require('acp.ui.titles').untitle(win)
    vim.wo[win].winfixwidth, vim.wo[win].winfixheight = false, false
  end
end

--- Look after windows from now on.
M.watch = require('acp.base.once')(function()
  local on = require('acp.base.autocmds').group('acp.sole_window')
  local look_soon = vim.schedule_wrap(look)
  on({ 'WinClosed', 'WinNew' }, function(args)
    if args.event == 'WinClosed' then left_by(tonumber(args.match) or -1) end
    look_soon()
  end)
  on('BufWinEnter', function(args) entered(args.buf) end)
end)

return M
