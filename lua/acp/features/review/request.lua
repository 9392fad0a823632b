--- Request for a review that the host has not answered yet.
local M = {}

local place = require('acp.ui.win').place

local requested_at ---@type { win: integer, buf: integer }|nil place of the user's request
local first_path ---@type string|nil file to show first

--- Record the place of a request, because the user may be elsewhere when the answer arrives.
function M.expect(path)
  requested_at = place()
  first_path = path or require('acp.features.review.inline').path(requested_at.buf)
end

--- Return whether an answer is outstanding.
function M.is_open() return requested_at ~= nil end

--- Return the file to show first.
---@return string|nil
function M.path() return first_path end

--- End the request and return whether the review may open. If the user is elsewhere by now, show a
--- message instead.
function M.may_open()
  local here = requested_at
  requested_at = nil
  if
    (here and not vim.deep_equal(here, place())) or vim.api.nvim_get_mode().mode:match('^[iRt]')
  then
    require('acp.base.notify').show('info', 'review_ready')
    return false
  end
  return true
end

return M
