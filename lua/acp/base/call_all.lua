--- Call functions that have waited for something, each once. One that waits again meanwhile is not
--- among them.
---@param waiting fun()[] emptied
return function(waiting)
  local list = vim.list_slice(waiting)
  for i = #list, 1, -1 do
    waiting[i] = nil
  end
  for _, fn in ipairs(list) do
    fn()
  end
end
