return {
  vim.fn.getpos("'["),
  vim.fn.getpos("']"),
  vim.fn.getpos("'."),
  vim.fn.getpos("'^"),
  vim.fn.getchangelist()[1],
}
