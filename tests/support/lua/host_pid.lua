local pid = vim.fn.jobpid(require('acp.base.host').channel())
local fork = vim.env.ACP_TEST_FORKS and vim.uv.fs_readlink(vim.env.ACP_TEST_FORKS .. '/' .. pid)
return tonumber(fork) or pid
