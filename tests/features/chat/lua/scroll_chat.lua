local top = ...
vim.api.nvim_win_call(
  vim.fn.bufwinid('acp://chat/1'),
  function() vim.fn.winrestview({ topline = top, lnum = top, col = 0 }) end
)
