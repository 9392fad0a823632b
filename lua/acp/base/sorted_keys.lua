--- The keys of a table in their order: |pairs()| has none.
---@param map table<string|integer, any>
---@return any[]
return function(map)
  local keys = vim.tbl_keys(map)
  table.sort(keys)
  return keys
end
