--- The user's position in the review, and moves within it.
local M = {}

local api = vim.api
local tab = require('acp.features.review.tab')
local sides = require('acp.features.review.sides')

local function current()
  local review = tab.state()
  return review ~= nil and api.nvim_get_current_tabpage() == review.tab
end

--- Return the line of the live buffer that corresponds to the cursor in the base's window.
---@return integer|nil 1-based; nil if another window is current
function M.line()
  local review = tab.state()
  if review and api.nvim_get_current_win() == review.base then
    return api.nvim_win_get_cursor(review.live)[1]
  end
end

--- Go to a row of a file in the review. If the user has accepted or rejected everything in the file
--- that is shown, go to the next file instead. Return false if the review is not the current tab
--- page.
---@param row integer 0-based
---@return boolean
function M.visit(path, row)
  if not current() then return false end
  local state = tab.state() --[[@as acp.Review]]
  local file = state.files[state.at]
  sides.refresh(file)
  if not sides.is_undecided(file) then
    M.go(1)
    return true
  end
  local i = tab.position(state.files, path)
  if state.files[i].path ~= path then
    require('acp.features.review.request').expect(path) -- pending since the review was opened
    require('acp.base.host').notify('review')
    return true
  end
  tab.show(i, row)
  if api.nvim_get_current_win() ~= state.list then api.nvim_set_current_win(state.live) end
  return true
end

--- Show the file `step` places further, wrapping around. Files with nothing left to accept or
--- reject are skipped if possible.
---@param step integer
function M.go(step)
  local review = tab.state()
  if not review then return end
  local count = #review.files
  local i = (review.at - 1 + step) % count + 1
  for _ = 1, count - 1 do
    if sides.is_undecided(review.files[i]) then break end
    i = (i - 1 + (step > 0 and 1 or -1)) % count + 1
  end
  tab.show(i)
end

return M
