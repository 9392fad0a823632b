--- The two windows of the review, in diff mode. Their options are set one by one because
--- `:diffthis` would also change 'scrollopt', which is global.
local M = {}

local text_width = require('acp.base.text.width')
local api = vim.api
local set, literal = require('acp.ui.win').set, require('acp.ui.win').literal

--- Options that the review sets. They get the user's values in a window that is left to the user.
local RESET = vim.split(
  'diff scrollbind cursorbind foldmethod foldlevel foldenable foldcolumn wrap winbar winfixbuf '
    .. 'winfixwidth winfixheight winhighlight',
  ' '
)

--- Options that a new tab page may have inherited from one of the plugin's windows.
local LOOKS = vim.split(
  'number relativenumber signcolumn statuscolumn colorcolumn list spell linebreak breakindent '
    .. 'cursorline conceallevel',
  ' '
)

local function reset(win, names)
  for _, name in ipairs(names) do
    set(win, name, api.nvim_get_option_value(name, { scope = 'global' }))
  end
end

--- Turn diff mode off and restore the user's options.
function M.disable_diff(win)
  require('acp.ui.window.titles').reset_title(win)
  set(win, 'diff', false)
  reset(win, RESET)
end

local function enable_diff(win)
  if not vim.list_contains(vim.opt.diffopt:get(), 'followwrap') then set(win, 'wrap', false) end
  set(win, 'foldcolumn', vim.o.diffopt:match('foldcolumn:(%d+)') or '2')
  set(win, 'foldmethod', 'diff')
  set(win, 'foldlevel', 0)
  for _, name in ipairs({ 'foldenable', 'scrollbind', 'cursorbind', 'diff' }) do
    set(win, name, true)
  end
end

--- Unbind a window from the other one and scroll it to its top. The other one has a single empty
--- line, and scroll binding to that would show the end of this window.
function M.unbind(win)
  set(win, 'scrollbind', false)
  set(win, 'cursorbind', false)
  api.nvim_win_call(win, function() vim.fn.winrestview({ topline = 1, lnum = 1, col = 0 }) end)
end

--- Make a new window one of the review's.
function M.set_up(win)
  vim.w[win].acp_review = true
  M.disable_diff(win)
  reset(win, LOOKS)
end

--- Show a buffer in a window of the review. Diff mode is turned off first, because a buffer that
--- leaves a window in diff mode is still compared while it is hidden.
function M.show(win, bufnr)
  M.disable_diff(win)
  if api.nvim_win_get_buf(win) ~= bufnr then
    local quiet, set_buf = { shortmess = vim.go.shortmess .. 'A' }, api.nvim_win_set_buf
    local ok, why = require('acp.base.options').with(vim.go, quiet, set_buf, win, bufnr)
    if not ok then error(why, 0) end
  end
  enable_diff(win)
end

--- Minimum number of columns for which hints are shown.
local MIN_HINT_WIDTH = 12

local function is_optional(part) return part == 'yours' or part:find('^%+%d+ %-%d+$') ~= nil end

--- Shorten a title and its hints to the available room. First the third hint is dropped. Then, if
--- that makes room for the other two, the side and the counts are dropped from the title, else the
--- second hint.
---@return string title
---@return string hints
local function fitting(title, hint, room)
  local titles, hints = vim.split(title, ' · '), vim.split(hint, ' · ')
  local function over() return text_width(title .. table.concat(hints, ' · ')) - room end
  while over() > 0 and #hints > 2 do
    hints[#hints] = nil
  end
  while #titles > 1 and is_optional(titles[#titles]) do
    titles[#titles] = nil
  end
  local bare = table.concat(titles, ' · ')
  if over() <= 0 then return title, table.concat(hints, ' · ') end
  local makes_room = hint ~= '' and over() <= text_width(title) - text_width(bare)
  return makes_room and bare or title, makes_room and table.concat(hints, ' · ') or hints[1]
end

--- Set a winbar with a title on the left and hints on the right. If there is too little room, the
--- end of the hint is cut, then all of it and the start of the title, but never `before`.
---@param before? string
function M.set_winbar(win, title, hint, before)
  if not api.nvim_win_is_valid(win) then return end
  before = before or ''
  local width = api.nvim_win_get_width(win)
  title, hint = fitting(title, hint, width - text_width(before) - 4)
  local room = width - text_width(before .. title)
  local is_whole = hint ~= '' and room >= MIN_HINT_WIDTH
  local left = literal(before) .. (is_whole and '' or '%<') .. literal(title)
  local right = is_whole and literal(hint) .. ' %<' or ''
  set(win, 'winbar', ('%%#AcpTitle# %s %%*%%=%%#AcpMuted# %s%%*'):format(left, right))
end

--- Set the title that the statusline of a window shows instead of an `acp://` name.
function M.set_title(win, title)
  if api.nvim_win_is_valid(win) then require('acp.ui.window.titles').set_title(win, title) end
end

--- Leave a window to the user, with any buffer that they show in it.
function M.release(win)
  vim.w[win].acp_review = nil
  M.disable_diff(win)
end

return M
