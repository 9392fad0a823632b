_G.chosen = {}
local answers = { ... }
vim.ui.select = function(items, opts, on_choice)
  table.insert(_G.chosen, vim.tbl_map(opts.format_item or tostring, items))
  local index = table.remove(answers, 1) or 1
  on_choice(items[index], index)
end
