-- Open a float of one line, whose border is `...`, at the row above the card in chat 1.
local chat = vim.fn.bufwinid('acp://chat/1')
local line = vim.api.nvim_win_call(chat, function() return vim.fn.search('wants to run', 'w') end)
local at = vim.fn.screenpos(chat, line, 1)
local config = { relative = 'editor', row = at.row - 2, col = at.col - 1, border = ... }
config.width, config.height, config.zindex = 30, 1, 200
vim.api.nvim_open_win(vim.api.nvim_create_buf(false, true), false, config)
