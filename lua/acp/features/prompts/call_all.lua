--- Empty a list of callbacks and call each once. A callback that is added during these calls is not
--- called.
---@param waiting fun()[]
return function(waiting)
  local list = vim.list_slice(waiting)
  for i = #list, 1, -1 do
    waiting[i] = nil
  end
  for _, fn in ipairs(list) do
    fn()
  end
end
