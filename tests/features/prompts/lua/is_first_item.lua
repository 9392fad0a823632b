-- Return whether the first item of the menu is the best match of the server `acp`, with this
-- filterText.
local first = (vim.fn.complete_info({ 'items' }).items or {})[1] or {}
local data = type(first.user_data) == 'table' and first.user_data or {}
local item = vim.tbl_get(data, 'lsp', 'item') or vim.tbl_get(data, 'nvim', 'lsp', 'completion_item')
return item ~= nil and item.filterText == ... and item.sortText == '00001'
