_G.bench_root = ...
vim.opt.runtimepath:prepend({ _G.bench_root, _G.bench_root .. '/bench' })
vim.opt.swapfile = false
function _G.bench_done()
  _G.bench_ended = vim.uv.hrtime()
  vim.rpcnotify(0, 'done')
end
_G.bench_questions = 0
vim.api.nvim_create_autocmd('User', {
  pattern = 'AcpPermission',
  callback = function()
    _G.bench_questions = _G.bench_questions - 1
    if _G.bench_questions == 0 then _G.bench_done() end
  end,
})
