--- The rows of our windows below a chat: as many as the user has left them when other windows come
--- and go. Neovim gives what a window over the whole width had, or did not take in the end, to the
--- lowest ones above it, 'winfixheight' or not.
local M = {}

local api = vim.api
local floats, splits = require('acp.ui.win').floats, require('acp.ui.win').splits

---@class acp.Rows
---@field windows string those of the tab page, floats left out
---@field wanted table<integer, integer> window of ours -> rows

local pages = {} ---@type table<integer, acp.Rows> by tab page

--- The parts of the column that `win` is in, `win` included.
---@param part any[] as `winlayout()` has it
---@return any[]|nil parts
local function column(part, win)
  for _, inner in ipairs(part[1] ~= 'leaf' and part[2] or {}) do
    if inner[1] == 'leaf' and inner[2] == win then return part[1] == 'col' and part[2] or nil end
    local found = column(inner, win)
    if found then return found end
  end
end

--- Whether the rows that `win` gives up have somewhere to go; or, where it lacks some of `wanted`,
--- whether one above or below can give them and is left with as many.
---@param missing integer 0 or less where it has enough
---@param wanted integer
local function has_other(win, missing, wanted)
  return vim.iter(column(vim.fn.winlayout(), win) or {}):any(function(part)
    if part[1] ~= 'leaf' then return missing <= 0 end
    if vim.wo[part[2]].winfixheight then return false end
    return missing <= 0 or api.nvim_win_get_height(part[2]) - missing >= wanted
  end)
end

--- Sizes have changed. Where the windows are the same the user, or the screen, has said how high
--- they shall be; else they are as high as they were. One with a winbar loses a row to others.
local function on_resized()
  local tab = api.nvim_get_current_tabpage()
  local known = pages[tab] or { windows = '', wanted = {} }
  local open = splits(tab)
  local windows, wanted = table.concat(open, ' '), {}
  for _, win in ipairs(open) do
    if vim.w[win].acp and vim.wo[win].winfixheight then
      local rows, before = api.nvim_win_get_height(win), known.wanted[win]
      local same = windows == known.windows or not before
      wanted[win] = same and rows or before
      if not same and rows ~= before and has_other(win, before - rows, before) then
        api.nvim_win_set_height(win, before)
      end
    end
  end
  pages[tab] = next(wanted) and { windows = windows, wanted = wanted } or nil
end

--- A window goes: the same windows as before, with one between, are others too.
local function on_closed(win)
  local page = pages[api.nvim_win_get_tabpage(win)]
  if page and not floats(win) then page.windows = '' end
end

local watch = require('acp.base.once')(function()
  local on = require('acp.base.autocmds').group('acp.rows')
  on('WinResized', on_resized)
  on('WinClosed', function(args)
    on_closed(tonumber(args.match) --[[@as integer]])
  end)
end)

--- Keep the rows that `win`, which has just been opened, has when Neovim tells the new sizes. What
--- the others have won by that is taken from them then.
function M.keep(win)
  if not floats(win) then
    local tab = api.nvim_win_get_tabpage(win)
    pages[tab] = pages[tab] or { windows = '', wanted = {} }
    pages[tab].windows, pages[tab].wanted[win] = '', nil
    watch()
  end
end

--- The rows that the user wants `win` to have, nil where none are kept for it.
---@return integer|nil
function M.of(win)
  for _, page in pairs(pages) do
    if page.wanted[win] then return page.wanted[win] end
  end
end

return M
