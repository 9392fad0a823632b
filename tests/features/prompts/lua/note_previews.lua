-- Note the previews of all items, and choose `explain`.
vim.ui.select = function(items, opts, on_choice)
  local previews = {}
  for _, item in ipairs(items) do
    previews[opts.format_item(item):match('^[^:]*')] = opts.preview_item(item)
  end
  _G.acp_previews = previews
  for index, item in ipairs(items) do
    if vim.startswith(opts.format_item(item), 'explain: ') then return on_choice(item, index) end
  end
end
