local repository, copy, python = ...
vim.opt.runtimepath:remove(repository)
vim.opt.runtimepath:prepend(copy)
vim.g.loaded_python3_provider = nil
vim.g.python3_host_prog = python
