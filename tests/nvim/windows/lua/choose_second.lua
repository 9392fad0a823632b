vim.ui.select = function(items, opts, done)
  _G.items = vim.tbl_map(opts.format_item, items)
  done(items[2], 2)
end
