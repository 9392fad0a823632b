--- Return the bytes of a file. Only regular files are read, since a FIFO would block Neovim.
---@return string|nil
---@return string|nil error
return function(path)
  local stat = vim.uv.fs_stat(path)
  if stat and stat.type ~= 'file' then return nil, path .. ': not a regular file' end
  local file, why = io.open(path, 'rb')
  local text = file and file:read('*a')
  if file then file:close() end
  return text, why
end
