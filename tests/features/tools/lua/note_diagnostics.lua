_G.said = {}
vim.api.nvim_create_autocmd('DiagnosticChanged', {
  callback = function(args)
    for _, one in ipairs(args.data.diagnostics) do
      table.insert(_G.said, one.message)
    end
  end,
})
