_G.asked = {}
vim.ui.select = function(items, opts, on_choice)
  table.insert(
    _G.asked,
    { prompt = (opts.prompt:gsub('[%s:]*$', '')), kind = opts.kind, items = items }
  )
  on_choice(items[_G.answer], _G.answer)
end
