--- What is set up when it is first wanted, and never again: autocommands mostly.

--- A function that does its work at the first call.
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
