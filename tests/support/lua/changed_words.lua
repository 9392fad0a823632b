local buffer = ...
local ns = vim.api.nvim_create_namespace('acp.hunks.words')
return vim.tbl_map(
  function(m)
    return vim.api.nvim_buf_get_text(buffer, m[2], m[3], m[4].end_row, m[4].end_col, {})[1]
  end,
  vim.api.nvim_buf_get_extmarks(buffer, ns, 0, -1, { details = true })
)
