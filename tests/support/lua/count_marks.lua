_G.marks_set = 0
local set, ours = vim.api.nvim_buf_set_extmark, {}
local function is_ours(ns)
  if ours[ns] == nil then
    for name, number in pairs(vim.api.nvim_get_namespaces()) do
      ours[number] = vim.startswith(name, 'acp.hunks')
    end
  end
  return ours[ns]
end
vim.api.nvim_buf_set_extmark = function(bufnr, ns, ...)
  _G.marks_set = _G.marks_set + (is_ours(ns) and 1 or 0)
  return set(bufnr, ns, ...)
end
