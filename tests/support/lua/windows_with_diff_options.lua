return vim.tbl_filter(function(w)
  local o = vim.wo[w]
  return o.diff or o.scrollbind or o.cursorbind or o.foldmethod == 'diff' or o.winbar ~= ''
end, vim.api.nvim_list_wins())
