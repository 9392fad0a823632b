local scheme, background, full = ...
vim.o.termguicolors, vim.o.background = full, background
vim.cmd.colorscheme(scheme)
require('acp.ui.highlights').define()
