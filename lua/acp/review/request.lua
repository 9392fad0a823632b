--- The review that the user has asked for and the host has not answered yet.
local M = {}

local place = require('acp.ui.win').place

local asked ---@type { win: integer, buf: integer }|nil
local wanted ---@type string|nil path to begin with

--- The user has asked for the review: where they are now, for the answer takes a moment.
function M.expect(path)
  asked = place()
  wanted = path or require('acp.review.inline').path(asked.buf)
end

--- Whether an answer is awaited.
function M.open() return asked ~= nil end

--- The file to begin with.
---@return string|nil
function M.path() return wanted end

--- Whether the review may open now; a user who went on meanwhile is told that it is ready.
function M.awaited()
  local here = asked
  asked = nil
  if
    (here and not vim.deep_equal(here, place())) or vim.api.nvim_get_mode().mode:match('^[iRt]')
  then
    require('acp.base.notify').echo('info', require('acp.base.messages').review_ready)
    return false
  end
  return true
end

return M
