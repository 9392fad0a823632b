-- Return the labels in the menu of nvim-cmp.
local cmp = require('cmp')
if not cmp.visible() then return {} end
return vim.tbl_map(function(entry) return entry.completion_item.label end, cmp.get_entries())
