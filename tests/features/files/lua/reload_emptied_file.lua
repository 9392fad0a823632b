local path, new = ...
vim.fn.writefile({}, path)
vim.cmd('edit!')
assert(vim.uv.fs_copyfile(new, path))
vim.cmd('checktime')
