--- Heights of acp windows below a chat, kept while other windows open and close. When a window over
--- the whole width closes or shrinks, Neovim gives its rows to the lowest windows above it, even if
--- they have 'winfixheight'.
local M = {}

local api = vim.api
local win_of = require('acp.ui.win')
local is_float, splits = win_of.is_float, win_of.splits

---@class acp.Rows
---@field windows string ids of the tab page's windows without floats
---@field wanted table<integer, integer> acp window -> rows

local pages = {} ---@type table<integer, acp.Rows> by tab page

--- Return the parts of the column that contains `win`, including `win`.
---@param part any[] a node of |winlayout()|
---@return any[]|nil parts
local function column(part, win)
  for _, inner in ipairs(part[1] ~= 'leaf' and part[2] or {}) do
    if inner[1] == 'leaf' and inner[2] == win then return part[1] == 'col' and part[2] or nil end
    local parts = column(inner, win)
    if parts then return parts end
  end
end

--- Return whether another window of the column can take the rows that `win` gives up. If rows are
--- missing, return whether another window can give up these rows and keep at least `wanted`.
---@param missing integer rows that `win` lacks; 0 or less if it has enough
---@param wanted integer
local function has_counterpart(win, missing, wanted)
  return vim.iter(column(vim.fn.winlayout(), win) or {}):any(function(part)
    if part[1] ~= 'leaf' then return missing <= 0 end
    if vim.wo[part[2]].winfixheight then return false end
    return missing <= 0 or api.nvim_win_get_height(part[2]) - missing >= wanted
  end)
end

--- Restore the kept heights of the current tab page, as far as space permits.
local function restore()
  local page = pages[api.nvim_get_current_tabpage()]
  for win, rows in pairs(page and page.wanted or {}) do
    local missing = api.nvim_win_is_valid(win) and rows - api.nvim_win_get_height(win) or 0
    if missing ~= 0 and has_counterpart(win, missing, rows) then
      api.nvim_win_set_height(win, rows)
    end
  end
end

--- Handle new sizes. If windows and screen are the same as before, the user has resized the
--- windows, and the new heights are kept. Otherwise restore the former heights.
local function on_resized()
  local tab = api.nvim_get_current_tabpage()
  local known = pages[tab] or { windows = '', wanted = {} }
  local open = splits(tab)
  local windows, wanted = table.concat(open, ' '), {}
  for _, win in ipairs(open) do
    if vim.w[win].acp and vim.wo[win].winfixheight then
      local before = windows ~= known.windows and known.wanted[win] or nil
      wanted[win] = before or api.nvim_win_get_height(win)
    end
  end
  pages[tab] = next(wanted) and { windows = windows, wanted = wanted } or nil
  restore()
end

--- Forget the set of windows when one closes, so that opening and closing one counts as a change.
local function on_closed(win)
  local page = pages[api.nvim_win_get_tabpage(win)]
  if page and not is_float(win) then page.windows = '' end
end

--- Return whether a window of the current tab page extends below the screen.
local function is_overflowing()
  local last = vim.o.lines - vim.o.cmdheight
  return vim.iter(splits(0)):any(
    function(win) return api.nvim_win_get_position(win)[1] + api.nvim_win_get_height(win) > last end
  )
end

--- Make the windows fit on the screen again. When the screen gets smaller, Neovim 0.11 lets windows
--- with 'winfixheight' extend below it (a composer above a quickfix window), and aborts when it
--- draws them. It resizes the windows of another tab page when the user enters it.
local function fit()
  if is_overflowing() then vim.cmd('vertical wincmd =') end
end

--- Restore the heights now, and again with the next `WinResized`. Two changes to the screen may
--- cause only one, or none if the second reverts the first.
local function on_screen_resized()
  fit()
  for _, page in pairs(pages) do
    page.windows = ''
  end
  vim.schedule(restore)
end

local watch = require('acp.base.once')(function()
  local on = require('acp.base.autocmds').group('acp.rows')
  on('VimResized', on_screen_resized)
  on('TabEnter', fit)
  on('WinResized', on_resized)
  on('WinClosed', function(args)
    on_closed(tonumber(args.match) --[[@as integer]])
  end)
end)

--- Keep the height of `win`, which has just been opened. The next `WinResized` records its height
--- and restores the heights of the other windows.
function M.keep(win)
  if not is_float(win) then
    local tab = api.nvim_win_get_tabpage(win)
    pages[tab] = pages[tab] or { windows = '', wanted = {} }
    pages[tab].windows, pages[tab].wanted[win] = '', nil
    watch()
  end
end

--- Return the height kept for `win`, nil if there is none.
---@return integer|nil
function M.of(win)
  for _, page in pairs(pages) do
    if page.wanted[win] then return page.wanted[win] end
  end
end

return M
