--- Floats that make room for windows at the bottom. An acp float, with the floats below it in its
--- column, ends above these windows. It gives up rows while they are open.
local M = {}

local api = vim.api
local FRAME = 2 -- rows of a border

--- Return the first screen row, 0-based, of the acp windows at the bottom that reach into a column;
--- nil if there are none.
---@param column integer 0-based
---@return integer|nil
local function top_of_panes(column)
  local row ---@type integer|nil
  for _, win in ipairs(require('acp.ui.win').splits(0)) do
    local at = api.nvim_win_get_position(win)
    local is_pane = vim.w[win].acp and vim.wo[win].winfixheight and at[1] > 1
    if is_pane and at[2] + api.nvim_win_get_width(win) > column then
      row = math.min(row or at[1], at[1])
    end
  end
  return row
end

--- Return the acp floats below `win` in its column.
---@param own vim.api.keyset.win_config
---@return integer[]
local function floats_below(win, own)
  return vim.tbl_filter(function(other)
    local config = api.nvim_win_get_config(other)
    local is_in_column = vim.w[other].acp and config.relative == 'editor' and config.col == own.col
    return is_in_column and other ~= win and config.row > own.row
  end, api.nvim_tabpage_list_wins(0))
end

local function fit(win)
  local own = api.nvim_win_get_config(win)
  local lower, given = floats_below(win, own), vim.w[win].acp_given or 0
  local edge = own.row + own.height + FRAME
  for _, other in ipairs(lower) do
    local config = api.nvim_win_get_config(other)
    edge = math.max(edge, config.row + config.height + FRAME)
  end
  local top = top_of_panes(own.col)
  local wanted = top and math.max(edge + given - (top - 1), 0) or 0
  local more = math.min(wanted - given, own.height - 1)
  if more == 0 then return end
  vim.w[win].acp_given = given + more
  api.nvim_win_set_height(win, own.height - more)
  for _, other in ipairs(lower) do
    local config = api.nvim_win_get_config(other)
    config.row = config.row - more
    api.nvim_win_set_config(other, config)
  end
end

local function fit_all()
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    if vim.w[win].acp_given and api.nvim_win_get_config(win).relative == 'editor' then fit(win) end
  end
end

local watch = require('acp.base.once')(function()
  local on = require('acp.base.autocmds').group('acp.float_room')
  on({ 'WinResized', 'WinClosed', 'TabEnter' }, vim.schedule_wrap(fit_all))
end)

--- Make a new float give room to windows at the bottom from now on.
---@param win integer
function M.keep(win)
  vim.w[win].acp_given = 0
  watch()
end

return M
