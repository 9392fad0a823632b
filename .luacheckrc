std = 'luajit'
cache = '.cache/luacheck'
max_line_length = 100
read_globals = { 'vim' }
-- vim.o, vim.b and the like are tables to assign to.
globals = { 'vim.o', 'vim.bo', 'vim.wo', 'vim.opt', 'vim.opt_local', 'vim.g', 'vim.b', 'vim.w', 'vim.v', 'vim.env', 'vim.go', 'vim.t' }
-- Tests put their own functions in place of Neovim's.
files['tests/**/lua/*.lua'] = { globals = { 'vim' } }
files['bench/lua/*.lua'] = { globals = { 'vim' } }
