--- Hint in an empty chat: the keys that write a prompt and list all keys.
local M = {}

local api = vim.api
local ns = api.nvim_create_namespace('acp.chat_hint')

local function is_empty(bufnr)
  return api.nvim_buf_line_count(bufnr) == 1 and api.nvim_buf_get_lines(bufnr, 0, 1, true)[1] == ''
end

--- Show the hint if the chat is still empty after the current frame.
---@param bufnr integer
function M.show(bufnr)
  vim.schedule(function()
    if not api.nvim_buf_is_loaded(bufnr) or not is_empty(bufnr) then return end
    local words = { compose = 'writes a prompt', help = 'lists all keys' }
    local keys = require('acp.ui.keymaps').words('chat', words)
    local text = { { keys, 'AcpPlaceholder' } }
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
