local win = vim.fn.win_findbuf(require('acp').state().sessions[1].chat_bufnr)[1]
vim.cmd.redraw()
return vim.api.nvim_win_call(
  win,
  function() return { vim.fn.winline(), vim.api.nvim_win_get_height(win) } end
)
