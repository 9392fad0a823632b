local roots = ...
vim.api.nvim_create_autocmd('BufWritePre', {
  callback = function()
    for _, these in ipairs(roots) do
      require('acp.buffers.disk_changes').set_turns(these)
    end
  end,
})
