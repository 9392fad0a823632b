local count = 0
vim.uv.walk(function(handle)
  local active = handle:get_type() == 'timer' and handle:is_active()
  count = count + (active and 1 or 0)
end)
return count
