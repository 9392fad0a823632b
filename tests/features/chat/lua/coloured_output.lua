local bufnr, found = vim.fn.bufnr('acp://chat/1'), {}
for row, line in ipairs(vim.api.nvim_buf_get_lines(bufnr, 0, -1, true)) do
  local highlights = require('acp.features.chat.marks').highlights(bufnr, row - 1)
  for i = 1, #highlights, 3 do
    local from, to = highlights[i] + 1, highlights[i + 1]
    if highlights[i + 2]:match('^Acp[RGYBMC]%l+$') then
      table.insert(found, line:sub(from, to) .. ' ' .. highlights[i + 2])
    end
  end
end
return found
