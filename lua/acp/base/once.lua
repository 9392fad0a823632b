--- Wrap a function so that it runs on the first call only.
---@param work fun()
---@return fun()
return function(work)
  local done = false
  return function()
    if not done then
      done = true
      work()
    end
  end
end
