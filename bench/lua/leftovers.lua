collectgarbage()
collectgarbage()
local loaded, marks = 0, 0
for _, b in ipairs(vim.api.nvim_list_bufs()) do
  for _, ns in pairs(vim.api.nvim_get_namespaces()) do
    if vim.api.nvim_buf_is_loaded(b) then
      marks = marks + #vim.api.nvim_buf_get_extmarks(b, ns, 0, -1, {})
    end
  end
  loaded = loaded + (vim.api.nvim_buf_is_loaded(b) and 1 or 0)
end
return {
  buffers = #vim.api.nvim_list_bufs(),
  loaded = loaded,
  extmarks = marks,
  autocmds = #vim.api.nvim_get_autocmds({}),
  lua_kb = collectgarbage('count'),
  sessions = vim.tbl_count(require('acp.base.state').get().sessions),
}
