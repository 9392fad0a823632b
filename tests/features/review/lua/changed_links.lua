local groups, found = require('acp.ui.highlights').groups, {}
for name, link in pairs(groups) do
  local now = vim.api.nvim_get_hl(0, { name = name })
  if now.link ~= link then table.insert(found, name) end
end
return found
