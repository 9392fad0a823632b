--- Return whether a value is a table that is empty or not a list.
---@param value any
---@return boolean
return function(value)
  return type(value) == 'table' and (next(value) == nil or not vim.islist(value))
end
