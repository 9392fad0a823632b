--- Hint in an empty chat: the keys that write a prompt and list all keys.
local M = {}

local api = vim.api
local ns = api.nvim_create_namespace('acp.chat_hint')
local text_width = require('acp.base.text.width')

local function is_empty(bufnr)
  return api.nvim_buf_line_count(bufnr) == 1 and api.nvim_buf_get_lines(bufnr, 0, 1, true)[1] == ''
end

--- Return the width of the narrowest window of a chat.
---@return integer cells
local function room(bufnr)
  local widths = vim.tbl_map(require('acp.ui.win').text_columns, vim.fn.win_findbuf(bufnr))
  return math.min(vim.o.columns, unpack(widths))
end

--- Return the keys in as many words as fit.
---@param width integer cells
local function keys(width)
  local words = require('acp.ui.keymaps').words
  local long = words('chat', { compose = 'writes a prompt', help = 'lists all keys' })
  if text_width(long) <= width then return long end
  return words('chat', { compose = 'prompt', help = 'keys' })
end

--- Show the hint if the chat is still empty after the current frame.
---@param bufnr integer
function M.show(bufnr)
  vim.schedule(function()
    if not api.nvim_buf_is_loaded(bufnr) or not is_empty(bufnr) then return end
    local text = { { keys(room(bufnr)), 'AcpPlaceholder' } }
    api.nvim_buf_set_extmark(
      bufnr,
      ns,
      0,
      0,
      { id = 1, virt_text = text, virt_text_pos = 'overlay' }
    )
  end)
end

--- Remove the hint, before the first text.
---@param bufnr integer
function M.hide(bufnr) api.nvim_buf_del_extmark(bufnr, ns, 1) end

return M
