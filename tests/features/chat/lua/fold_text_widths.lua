local found = {}
vim.api.nvim_set_current_win(vim.fn.bufwinid('acp://chat/1'))
vim.wo.winfixwidth = false
for _, head in ipairs({ '▸ Thought', '✓' }) do
  local row = vim.fn.search('^' .. head)
  for width = 4, 60 do
    vim.api.nvim_win_set_width(0, width)
    local chunks = require('acp.features.chat.foldtext').of(row)
    local texts = vim.tbl_map(function(c) return c[1] end, chunks)
    for _, text in ipairs(texts) do
      if vim.fn.strtrans(text) ~= text then return { width, texts } end
    end
    found[#found + 1] = vim.fn.strdisplaywidth(table.concat(texts)) <= width
  end
end
return found
