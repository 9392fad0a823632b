--- Float below another float, which shrinks while the lower one is open. It replaces a split, since
--- a float cannot be split.
local M = {}

local FRAME = 2 -- rows of a border

--- Return whether a window below `win` has to be a float.
---@param win integer|nil
---@return boolean
function M.is_wanted(win) return win ~= nil and require('acp.ui.win').is_float(win) end

local function grow(win, rows)
  if vim.api.nvim_win_is_valid(win) then
    vim.api.nvim_win_set_height(win, math.max(vim.api.nvim_win_get_height(win) + rows, 1))
  end
end

--- Return the placement of a float of this height below `upper`, with the same width.
---@param upper integer
---@param height integer rows; limited to half of the height of `upper`
---@return vim.api.keyset.win_config
local function placement(upper, height)
  local above = vim.api.nvim_win_get_config(upper)
  height = math.max(math.min(height, math.floor(above.height / 2)), 1)
  return {
    relative = above.relative,
    win = above.win,
    row = above.row + above.height - height,
    col = above.col,
    width = above.width,
    height = height,
    border = require('acp.ui.win').border(),
    zindex = above.zindex + 1, -- the upper one may be reopened at its full height
  }
end

--- Take the rows of `win` from `upper` until `win` closes.
local function take_rows(win, upper, height)
  local rows = height + FRAME
  grow(upper, -rows)
  vim.api.nvim_create_autocmd('WinClosed', {
    pattern = tostring(win),
    once = true,
    callback = function() grow(upper, rows) end,
  })
end

--- Open `bufnr` below the float `upper`.
---@param upper integer
---@param height integer rows; limited to half of the height of `upper`
---@param enter boolean
---@return integer win
function M.open(bufnr, upper, height, enter)
  local config = placement(upper, height)
  local win = vim.api.nvim_open_win(bufnr, enter, config)
  take_rows(win, upper, config.height)
  return win
end

--- Turn an existing window into a float below the float `upper`.
---@param upper integer
---@param height integer
function M.adopt(win, upper, height)
  local config = placement(upper, height)
  vim.api.nvim_win_set_config(win, config)
  take_rows(win, upper, config.height)
end

return M
