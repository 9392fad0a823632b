--- Temporary values of Neovim options.
local M = {}

--- Call a function with some options set, then restore them.
---@param scope table `vim.go`, or `vim.bo` of a buffer
---@param values table<string, any>
---@param action function
---@param ... any its arguments
---@return boolean ok as |pcall()|
---@return any ... results, or the error
function M.with(scope, values, action, ...)
  local old = {}
  for name, value in pairs(values) do
    old[name] = scope[name]
    scope[name] = value
  end
  local result = { pcall(action, ...) }
  for name, value in pairs(old) do
    pcall(function() scope[name] = value end)
  end
  return unpack(result, 1, 4)
end

--- Call a function without the autocommands of some events.
---@param events string names separated by commas
---@param action function
---@param ... any its arguments
---@return any result
function M.without_events(events, action, ...)
  local ignored = vim.go.eventignore
  local value = (ignored == '' and '' or ignored .. ',') .. events
  local ok, result = M.with(vim.go, { eventignore = value }, action, ...)
  if not ok then error(result, 0) end
  return result
end

--- Return the value of 'eventignore' without the events that the plugin itself waits for.
---@param needed table<string, true> by name in lower case
---@return string
function M.ignored_but(needed)
  local ignored = vim.split(vim.go.eventignore, ',', { trimempty = true })
  if vim.iter(ignored):any(function(name) return name:lower() == 'all' end) then
    ignored = vim.fn.getcompletion('', 'event')
  end
  return table.concat(
    vim.tbl_filter(function(name) return not needed[name:lower()] end, ignored),
    ','
  )
end

return M
