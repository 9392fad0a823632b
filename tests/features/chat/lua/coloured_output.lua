local bufnr, found = vim.fn.bufnr('acp://chat/1'), {}
for row, line in ipairs(vim.api.nvim_buf_get_lines(bufnr, 0, -1, true)) do
  local look = require('acp.features.chat.marks').look(bufnr, row - 1)
  for i = 1, #look, 3 do
    local from, to = look[i] + 1, look[i + 1]
    if look[i + 2]:match('^Acp[RGYBMC]%l+$') then
      table.insert(found, line:sub(from, to) .. ' ' .. look[i + 2])
    end
  end
end
return found
