function _G.Formatted()
  local first, last = vim.v.lnum, vim.v.lnum + vim.v.count - 1
  local lines = vim.api.nvim_buf_get_lines(0, first - 1, last, false)
  vim.api.nvim_buf_set_lines(0, first - 1, last, false, vim.tbl_map(string.upper, lines))
  return 1 -- Neovim may format it, too
end
vim.bo.formatexpr = 'v:lua.Formatted()'
