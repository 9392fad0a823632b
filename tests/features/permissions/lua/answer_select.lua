local index = ...
_G.asked = {}
vim.ui.select = function(items, opts, on_choice)
  table.insert(_G.asked, opts.prompt)
  on_choice(items[index], index)
end
