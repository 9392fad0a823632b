local chat = require('acp.ui.chats').of(vim.fn.bufnr('acp://chat/1'))
local found = {}
for row, spans in pairs(chat.colours) do
  local line = vim.api.nvim_buf_get_lines(chat.bufnr, row - 1, row, true)[1]
  for i = 1, #spans, 3 do
    local text = line:sub(spans[i] + 1, spans[i + 1])
    found[#found + 1] = { text, vim.fn.synIDattr(spans[i + 2], 'name') }
  end
end
return found
