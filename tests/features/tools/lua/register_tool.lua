local name, body, more = ...
local run = assert(loadstring('local args, ctx = ... ' .. body))
local spec = vim.tbl_extend('keep', { run = run }, more, { description = 'Helps.' })
require('acp').tool(name, spec)
