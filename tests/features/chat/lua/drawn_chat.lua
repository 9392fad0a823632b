local chat = require('acp.ui.chats').of(require('acp.ui.chats').bufnr(1))
local win = vim.fn.win_findbuf(chat.bufnr)[1]
local rows = vim.api.nvim_buf_line_count(chat.bufnr)
local highlights, targets, levels = {}, {}, {}
for row = 1, rows do
  highlights[row] = chat.highlights[row] or vim.NIL
  targets[row] = require('acp.features.chat.marks').at(chat, row - 1) or vim.NIL
  levels[row] = vim.api.nvim_win_call(win, function() return vim.fn.foldlevel(row) end)
end
for _, part in ipairs({ chat.highlights, chat.targets }) do
  for row in pairs(part) do
    assert(row >= 1 and row <= rows, 'part for no row')
  end
end
return {
  lines = vim.api.nvim_buf_get_lines(chat.bufnr, 0, -1, true),
  highlights = highlights,
  targets = targets,
  levels = levels,
  folds = vim.tbl_map(function(fold) return { fold.first, fold.last } end, chat.folds),
}
