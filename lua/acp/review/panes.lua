--- The two windows of the review: in diff mode with each other, by options that are theirs alone.
--- Set one by one and not by `:diffthis`, which would change 'scrollopt' for all windows.
local M = {}

local text_width = require('acp.base.text_width')
local api = vim.api
local set, literal = require('acp.ui.win').set, require('acp.ui.win').literal

--- Options that diff mode and our own windows set; a window that is given back has the user's.
local RESET = vim.split(
  'diff scrollbind cursorbind foldmethod foldlevel foldenable foldcolumn wrap winbar winfixbuf '
    .. 'winfixwidth winfixheight winhighlight',
  ' '
)

--- Options that a new tab page may have inherited from a window of ours.
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

--- Out of diff mode, as a window of the user's is.
function M.plain(win)
  require('acp.ui.titles').untitle(win)
  set(win, 'diff', false)
  reset(win, RESET)
end

--- Into diff mode.
local function arm(win)
  if not vim.list_contains(vim.opt.diffopt:get(), 'followwrap') then set(win, 'wrap', false) end
  set(win, 'foldcolumn', vim.o.diffopt:match('foldcolumn:(%d+)') or '2')
  set(win, 'foldmethod', 'diff')
  set(win, 'foldlevel', 0)
  for _, name in ipairs({ 'foldenable', 'scrollbind', 'cursorbind', 'diff' }) do
    set(win, name, true)
  end
end

--- Show a window from its top, apart from the other: that has one empty line, and with the cursor
--- on it the end of this one would be in view.
function M.unbind(win)
  set(win, 'scrollbind', false)
  set(win, 'cursorbind', false)
  api.nvim_win_call(win, function() vim.fn.winrestview({ topline = 1, lnum = 1, col = 0 }) end)
end

--- Make a fresh window one of the review's.
function M.adopt(win)
  vim.w[win].acp_review = true
  M.plain(win)
  reset(win, LOOKS)
end

--- Show a buffer in a window of the review. It is out of diff mode meanwhile: a buffer that leaves
--- a window in diff mode goes on being compared while it is hidden.
function M.show(win, bufnr)
  M.plain(win)
  if api.nvim_win_get_buf(win) ~= bufnr then
    local quiet, set_buf = { shortmess = vim.go.shortmess .. 'A' }, api.nvim_win_set_buf
    local ok, why = require('acp.base.options').with(vim.go, quiet, set_buf, win, bufnr)
    if not ok then error(why, 0) end
  end
  arm(win)
end

--- Columns that hints have at least: with fewer they say nothing.
local LEAST = 12

local function spare(part) return part == 'yours' or part:find('^%+%d+ %-%d+$') ~= nil end

--- What of a title and its hints has room. The third hint goes first; then, if that makes room for
--- the other two, what the title tells beside a name: whose side it is, how much has changed.
---@return string title
---@return string hints
local function fitting(title, hint, room)
  local titles, hints = vim.split(title, ' · '), vim.split(hint, ' · ')
  local function over() return text_width(title .. table.concat(hints, ' · ')) - room end
  while over() > 0 and #hints > 2 do
    hints[#hints] = nil
  end
  while #titles > 1 and spare(titles[#titles]) do
    titles[#titles] = nil
  end
  local bare = table.concat(titles, ' · ')
  local makes_room = hint ~= '' and over() > 0 and over() <= text_width(title) - text_width(bare)
  return makes_room and bare or title, table.concat(hints, ' · ')
end

--- A winbar of a title on the left and hints on the right. Where parts of both do not suffice it
--- loses the end of the hints, then all of them and the beginning of the title, but not what stands
--- before it. A window that is being closed has none.
---@param before? string
function M.bar(win, title, hint, before)
  if not api.nvim_win_is_valid(win) then return end
  before = before or ''
  local width = api.nvim_win_get_width(win)
  title, hint = fitting(title, hint, width - text_width(before) - 4)
  local room = width - text_width(before .. title)
  local whole = hint ~= '' and room >= LEAST
  local left = literal(before) .. (whole and '' or '%<') .. literal(title)
  local right = whole and literal(hint) .. ' %<' or ''
  set(win, 'winbar', ('%%#AcpTitle# %s %%*%%=%%#AcpMuted# %s%%*'):format(left, right))
end

--- What the line below a window says in place of an address that begins with `acp://`.
function M.entitle(win, title)
  if api.nvim_win_is_valid(win) then require('acp.ui.titles').entitle(win, title) end
end

--- Leave a window to the user: whatever they came to show in it.
function M.release(win)
  vim.w[win].acp_review = nil
  M.plain(win)
end

return M
