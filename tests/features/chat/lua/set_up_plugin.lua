local path, name, options, register = ...
vim.opt.runtimepath:append(path)
vim.cmd.runtime('plugin/' .. name .. '.lua')
if register then vim.treesitter.language.register('markdown', 'acpchat') end
require(name).setup(options)
