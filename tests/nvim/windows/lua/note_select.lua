_G.calls = {}
vim.ui.select = function(items, _, on_choice)
  table.insert(_G.calls, { items = items, on_choice = on_choice })
end
