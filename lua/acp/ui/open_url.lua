--- Addresses that the user has agreed to open. Nothing here is called without that.
local M = {}

--- Frame operation: open an address in the browser; where that fails it is said, with the address.
---@param url string
function M.open(url)
  vim.schedule(function()
    local ok, _, why = pcall(vim.ui.open, url)
    if not ok or why then
      require('acp.base.notify').echo('error', ('could not open %s'):format(url))
    end
  end)
end

return M
