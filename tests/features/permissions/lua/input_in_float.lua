-- `vim.ui.input` in a float, as dressing.nvim and snacks.nvim open it.
vim.ui.input = function(opts, on_confirm)
  local buf = vim.api.nvim_create_buf(false, true)
  local win = vim.api.nvim_open_win(buf, true, {
    relative = 'cursor',
    row = 1,
    col = 0,
    width = 30,
    height = 1,
    title = opts.prompt,
    border = 'single',
  })
  local function answer(text)
    vim.cmd.stopinsert()
    vim.api.nvim_win_close(win, true)
    vim.schedule(function() on_confirm(text) end)
  end
  local function set_key(key, fn) vim.keymap.set('i', key, fn, { buffer = buf }) end
  set_key('<CR>', function() answer(vim.api.nvim_get_current_line()) end)
  set_key('<Esc>', function() answer(nil) end)
  vim.cmd.startinsert()
end
