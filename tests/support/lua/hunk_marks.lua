local ns = vim.api.nvim_create_namespace('acp.hunks')
local lines = vim.api.nvim_create_namespace('acp.hunks.lines')
local washes = {}
for _, m in ipairs(vim.api.nvim_buf_get_extmarks(..., lines, 0, -1, { details = true })) do
  washes[m[2]] = m[4].hl_group
end
return vim.tbl_map(function(m)
  local d = m[4]
  return {
    first = m[2],
    last = d.end_row or m[2],
    line = d.line_hl_group or washes[m[2]],
    sign = d.sign_hl_group,
    removed = vim.tbl_map(function(chunks)
      return vim.trim(table.concat(vim.tbl_map(function(c) return c[1] end, chunks)))
    end, d.virt_lines or {}),
    above = d.virt_lines_above,
    id = m[1],
  }
end, vim.api.nvim_buf_get_extmarks(..., ns, 0, -1, { details = true }))
