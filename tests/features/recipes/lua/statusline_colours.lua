-- Return the text colours of the statusline.
local line = vim.api.nvim_eval_statusline(vim.o.statusline, { highlights = true })
return vim.tbl_map(
  function(part) return vim.api.nvim_get_hl(0, { name = part.group, link = false }).fg or 0 end,
  line.highlights
)
