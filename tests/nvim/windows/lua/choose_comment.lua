vim.ui.select = function(items, _, done)
  for i, item in ipairs(items) do
    if item[1] == 'comment' then return done(item, i) end
  end
end
vim.ui.input = function(opts, done)
  _G.prompt = opts.prompt
  done('why | not "that"')
end
