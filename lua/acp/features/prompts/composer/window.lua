--- Windows of composers, below their chats.
local M = {}

local composers = require('acp.features.prompts.composer.composers')

local chosen_rows ---@type integer|nil height that the user gave the last composer window

--- Return the placement of the composer's window: below its chat, with at most half of the height.
---@return acp.OpenOpts
function M.placement(n)
  local chat = require('acp.ui.window').showing(require('acp.ui.chats').bufnr(n))
  local half = chat and math.max(math.floor(vim.api.nvim_win_get_height(chat) / 2) - 1, 1)
  local rows = chosen_rows or require('acp.config').get().composer.height
  return {
    layout = 'bottom',
    size = math.min(half or rows, rows),
    under = chat,
    enter = true,
  }
end

--- Use the height that the user gives `win` for the next composer window.
local function remember_rows(win)
  local rows = require('acp.ui.window.rows')
  local first = vim.api.nvim_win_get_height(win)
  vim.api.nvim_create_autocmd('WinClosed', {
    pattern = tostring(win),
    once = true,
    callback = function()
      local last = rows.of(win)
      if last and last ~= first then chosen_rows = last end
    end,
  })
end

--- Move the composer's window of this tab page below chat `n`, which has just been opened.
function M.join(n)
  local window = require('acp.ui.window')
  local win, where = window.showing(composers.bufnr(n)), M.placement(n)
  if win and where.under then window.move_below(win, where.under, where.size) end
end

--- Return the current composer window if chat `n` has replaced the chat above it.
---@return integer|nil win
local function composer_of_replaced_chat(n)
  local window, chats = require('acp.ui.window'), require('acp.ui.chats')
  local win = vim.api.nvim_get_current_win()
  local other = require('acp.features.prompts.composer.candidates').composer(0)
  local above = other and vim.w[win].acp and window.showing(chats.bufnr(n))
  return above and not window.showing(chats.bufnr(other)) and win or nil
end

--- Open a window for a composer's buffer, unless there is one, and remember its height.
---@param placement acp.OpenOpts
---@return integer|nil win
local function open_beside(bufnr, placement)
  local win = require('acp.ui.window').open_beside(bufnr, placement)
  if win then remember_rows(win) end
  return win
end

--- Go to the window of composer `n`. If there is none, open one, in place of the current composer
--- if chat `n` has replaced the chat above it.
---@param bufnr integer
---@return integer|nil win
function M.enter(n, bufnr)
  local window = require('acp.ui.window')
  local win = window.showing(bufnr)
  if win then
    vim.api.nvim_set_current_win(win)
    return win
  end
  local other = composer_of_replaced_chat(n)
  if other then return window.replace(other, bufnr, M.placement(n)) end
  return open_beside(bufnr, M.placement(n))
end

--- Open a window for the buffer of composer `n`. The focus does not move.
---@param bufnr integer
function M.show(n, bufnr)
  open_beside(bufnr, vim.tbl_extend('force', M.placement(n), { enter = false }))
end

return M
