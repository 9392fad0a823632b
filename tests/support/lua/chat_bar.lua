local n = ...
local win = vim.fn.win_findbuf(require('acp').state().sessions[n].chat_bufnr)[1]
local opts = { winid = win, use_winbar = true, highlights = true }
return vim.api.nvim_eval_statusline(vim.wo[win].winbar, opts)
