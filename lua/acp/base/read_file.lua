--- Return the bytes of a file.
---@return string|nil
---@return string|nil error
return function(path)
  local file, why = io.open(path, 'rb')
  local text = file and file:read('*a')
  if file then file:close() end
  return text, why
end
