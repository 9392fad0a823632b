--- Wrap a function so that it runs on the first call only.
---@param work fun()
---@return fun()
return function(work)
  local is_done = false
  return function()
    if not is_done then
      is_done = true
      work()
    end
  end
end
