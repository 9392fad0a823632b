return vim.tbl_map(function(w)
  return vim.api.nvim_win_call(
    w,
    function() return { vim.fn.getline('w0'), vim.fn.getline('.'), vim.fn.col('.') } end
  )
end, vim.api.nvim_list_wins())
