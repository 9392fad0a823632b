local root, access = ..., vim.uv.fs_access
vim.uv.fs_access = function(path, mode)
  if mode == 'W' and path == root then return false end
  return access(path, mode)
end
