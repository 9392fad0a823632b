--- Room for one more window of ours: beside the user's own as long as these keep enough, else in
--- the column where others of ours stand, else in the place of one of them.
local M = {}

local api = vim.api

local EACH = { row = 25, col = 8 } -- what each of several beside one another should have
local OWN = 80 -- columns that the user's windows keep, or half of a narrower screen
local STACKED = 10 -- rows for each of two in a column
local LEAST = 20 -- columns

local order, count = {}, 0 ---@type table<integer, integer>, integer

--- Note that a window of ours has been opened, or taken for something else.
function M.opened(win)
  count = count + 1
  order[win] = count
end

---@param layout acp.Layout
local function at_side(layout) return layout == 'left' or layout == 'right' end

--- Whether one more at that side would leave too little for each: Neovim would make some of them
--- one column wide.
---@param layout acp.Layout
local function crowded(layout)
  local way = at_side(layout) and 'row' or 'col'
  local windows = vim.fn.winlayout()
  local beside = windows[1] == way and #windows[2] or 1
  return (beside + 1) * EACH[way] > (way == 'row' and vim.o.columns or vim.o.lines)
end

local function name_in(win) return api.nvim_buf_get_name(api.nvim_win_get_buf(win)) end

--- Windows of ours in this tab page whose buffer's name begins so, the one opened first before the
--- others; no floats.
local function ours(prefix)
  local found = vim.tbl_filter(
    function(win) return vim.w[win].acp and vim.startswith(name_in(win), prefix) end,
    require('acp.ui.win').splits(0)
  )
  table.sort(found, function(a, b) return (order[a] or 0) < (order[b] or 0) end)
  return found
end

--- Whether the user's own windows would be left with too little beside one more.
---@param windows integer[] ours that stand there
---@param width integer|nil of the new one
local function squeezed(windows, width)
  local columns, left = {}, vim.o.columns - (width or 0)
  for _, win in ipairs(windows) do
    columns[vim.fn.win_screenpos(win)[2]] = api.nvim_win_get_width(win) + 1
  end
  for _, taken in pairs(columns) do
    left = left - taken
  end
  return #windows > 0 and left < math.min(OWN, math.floor(vim.o.columns / 2))
end

--- Whether the composer of a chat stands below it: the two are one, and a third chat does not go
--- between or below them. Unless the user is in it, who would be left with the wrong one.
---@param leaving boolean whether the user is about to leave it
local function has_composer(win, leaving)
  local n = name_in(win):match('^acp://chat/(%d+)$')
  local lower = vim
    .iter(ours('acp://composer/'))
    :find(function(one) return name_in(one) == 'acp://composer/' .. (n or '') end)
  return lower ~= nil and (leaving or lower ~= api.nvim_get_current_win())
end

--- Where one more goes that does not stand for itself: the window of ours to go below, because
--- beside it would be too much; else the one to take, because there is no room for one more: it was
--- opened first and is not the current one. Neither where there is room.
---@param prefix string
---@param layout acp.Layout
---@param width integer|nil
---@param leaving boolean whether the user goes to the composer of the new one
---@return integer|nil above
---@return integer|nil taken
function M.for_one(prefix, layout, width, leaving)
  if layout == 'float' then return nil end
  local windows = ours(prefix)
  local tight = at_side(layout) and squeezed(windows, width)
  for _, win in ipairs(tight and windows or {}) do
    local alone = not has_composer(win, leaving)
    if alone and api.nvim_win_get_height(win) > 2 * STACKED then return win end
  end
  if not tight and not crowded(layout) then return nil end
  return nil, vim.iter(windows):find(function(win) return win ~= api.nvim_get_current_win() end)
end

--- The last window of a part of the layout.
---@param part any[] as `winlayout()` has it
---@return integer win
local function last_of(part) return part[1] == 'leaf' and part[2] or last_of(part[2][#part[2]]) end

--- Neovim takes the columns of one more from the window beside it alone, from 0.12 on from the
--- user's own. Where too little is left there, several of ours get equal parts; else the user's own
--- do, as 'equalalways' says.
function M.make()
  local layout = vim.fn.winlayout()
  local parts = layout[1] == 'row' and layout[2] or {}
  local mine, narrow = {}, false
  for _, part in ipairs(parts) do
    local win = last_of(part)
    if part[1] == 'leaf' and vim.w[win].acp then mine[#mine + 1] = win end
    narrow = narrow or api.nvim_win_get_width(win) < LEAST
  end
  if narrow and #mine == 1 and vim.o.equalalways then
    vim.cmd('horizontal wincmd =') -- ours have 'winfixwidth'
  end
  for _, win in ipairs(narrow and #mine > 1 and mine or {}) do
    api.nvim_win_set_width(win, math.floor(vim.o.columns / #parts) - 1)
  end
end

return M
