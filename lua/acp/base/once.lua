--- A function that does its work at the first call only: autocommands are set up so.
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
