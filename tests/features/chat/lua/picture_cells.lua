-- Return the place, size and colour of the cells of the picture in the first chat.
local bufnr, ns = vim.fn.bufnr('acp://chat/1'), vim.api.nvim_get_namespaces()['acp.pictures.kitty']
for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(bufnr, ns, 0, -1, { details = true })) do
  local lines = not mark[4].invalid and mark[4].virt_lines
  if lines then
    return {
      row = mark[2],
      rows = #lines,
      columns = vim.fn.strwidth(lines[1][2][1]),
      colour = vim.api.nvim_get_hl(0, { name = lines[1][2][2] }).fg,
    }
  end
end
