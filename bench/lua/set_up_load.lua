local command, root = ...
_G.bench_ends, _G.bench_asked, _G.bench_notices = 0, 0, {}
vim.api.nvim_create_autocmd('User', {
  pattern = 'AcpTurnEnd',
  callback = function() _G.bench_ends = _G.bench_ends + 1 end,
})
vim.api.nvim_create_autocmd('User', {
  pattern = 'AcpNotice',
  callback = function(args) table.insert(_G.bench_notices, args.data.title) end,
})
require('acp').setup({
  agent = 'bench',
  agents = { bench = { command = command, env = { PYTHONPATH = root, ACP_PROBE = '' } } },
  checkpoints = false,
})
