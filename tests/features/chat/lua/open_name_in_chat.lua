local text, key = ...
local buf = vim.fn.bufnr('acp://chat/1')
for row, line in ipairs(vim.api.nvim_buf_get_lines(buf, 0, -1, true)) do
  if line:find(text, 1, true) then
    vim.api.nvim_set_current_win(vim.fn.win_findbuf(buf)[1])
    vim.cmd('silent! %foldopen!')
    vim.api.nvim_win_set_cursor(0, { row, (line:find(text, 1, true)) - 1 })
    require('acp.features.chat.cursor_target')[key](key == 'open_file' or nil, 1)
    return { vim.api.nvim_buf_get_name(0), vim.fn.line('.') }
  end
end
