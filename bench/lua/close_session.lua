vim.ui.select = function(items, _, done)
  local at = 1
  for i, item in ipairs(items) do
    at = (type(item) == 'table' and item.label or item) == 'close' and i or at
  end
  vim.schedule(function() done(items[at], at) end)
end
vim.cmd('Acp sessions')
