local before = vim.uv.hrtime()
vim.cmd('AcpPrompt go')
_G.bench_held = (vim.uv.hrtime() - before) / 1e6
return _G.bench_held
