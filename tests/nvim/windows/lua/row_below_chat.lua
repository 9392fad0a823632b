local win = vim.fn.bufwinid('acp://chat/1')
return vim.api.nvim_win_get_position(win)[1] + vim.api.nvim_win_get_height(win) + 1
