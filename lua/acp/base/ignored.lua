--- 'eventignore' as it is to be while we wait for an event of Neovim's ourselves.
local M = {}

--- The events that are ignored now, but for some.
---@param needed table<string, true> by name in small letters
---@return string
function M.but(needed)
  local ignored = vim.split(vim.go.eventignore, ',', { trimempty = true })
  if vim.iter(ignored):any(function(name) return name:lower() == 'all' end) then
    ignored = vim.fn.getcompletion('', 'event')
  end
  return vim.iter(ignored):filter(function(name) return not needed[name:lower()] end):join(',')
end

return M
