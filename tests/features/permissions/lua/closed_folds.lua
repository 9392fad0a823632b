local win = vim.fn.win_findbuf(vim.fn.bufnr('acp://chat/1'))[1]
return vim.api.nvim_win_call(win, function()
  local found = {}
  for line = 1, vim.fn.line('$') do
    if vim.fn.foldclosed(line) == line then table.insert(found, vim.fn.getline(line)) end
  end
  return found
end)
