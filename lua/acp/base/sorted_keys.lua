--- Return the sorted keys of a table.
---@param map table<string|integer, any>
---@return any[]
return function(map)
  local keys = vim.tbl_keys(map)
  table.sort(keys)
  return keys
end
