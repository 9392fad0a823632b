local line = ...
for _, win in ipairs(vim.api.nvim_list_wins()) do
  local buf = vim.api.nvim_win_get_buf(win)
  if vim.bo[buf].filetype == 'acpchat' then
    for row, text in ipairs(vim.api.nvim_buf_get_lines(buf, 0, -1, true)) do
      if text:find(line, 1, true) then
        vim.api.nvim_set_current_win(win)
        vim.api.nvim_win_set_cursor(win, { row, 0 })
        vim.cmd('silent! %foldopen!')
        require('acp.features.chat.cursor_target').act()
        return vim.api.nvim_buf_get_name(0)
      end
    end
  end
end
