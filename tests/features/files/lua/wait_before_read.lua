local reading, resume = ...
vim.api.nvim_create_autocmd('BufReadPre', {
  once = true,
  callback = function()
    io.open(reading, 'w'):close()
    vim.wait(20000, function() return vim.uv.fs_stat(resume) ~= nil end, 5)
  end,
})
