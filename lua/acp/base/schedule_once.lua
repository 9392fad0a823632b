--- Return a function that schedules `fn`. Calls before `fn` runs have no further effect.
---@param fn fun()
---@return fun()
return function(fn)
  local is_scheduled = false
  return function()
    if is_scheduled then return end
    is_scheduled = true
    vim.schedule(function()
      is_scheduled = false
      fn()
    end)
  end
end
