local path = ...
vim.api.nvim_create_autocmd('User', {
  pattern = 'AcpEdit',
  once = true,
  callback = function()
    local now, mtime = vim.uv.clock_gettime('realtime'), vim.uv.fs_stat(path).mtime
    _G.age = (now.sec - mtime.sec) * 1000000000 + now.nsec - mtime.nsec
  end,
})
