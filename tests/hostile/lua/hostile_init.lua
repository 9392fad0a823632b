vim.o.statusline = "%{%v:lua.require'acp'.statusline()%} %f"
vim.o.tabline = "%{%v:lua.require'acp'.statusline()%}"
vim.o.laststatus, vim.o.showtabline, vim.o.title = 2, 2, true
vim.o.modeline, vim.o.modelines, vim.o.exrc = true, 5, true
