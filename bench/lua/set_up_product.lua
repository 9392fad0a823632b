local command, root, history = ...
require('acp').setup({
  agent = 'bench',
  agents = { bench = { command = command, env = { PYTHONPATH = root } } },
  checkpoints = false,
  history = { enabled = history },
})
vim.api.nvim_create_autocmd('User', { pattern = 'AcpTurnEnd', callback = _G.bench_done })
