--- Return the actions of the default keys, by window.
local parts = require('acp.base.settings.keymaps').parts
return vim.tbl_map(function(keys)
  return vim.tbl_map(function(value) return (parts(value)) end, vim.tbl_values(keys))
end, require('acp.config').defaults.keymaps)
