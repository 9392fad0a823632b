local name, event, code = ...
local swap = assert(loadstring('local name = ... ' .. code))
vim.api.nvim_create_autocmd(event, {
  once = true,
  pattern = '*/' .. vim.fs.basename(name),
  callback = function()
    vim.uv.fs_rename(name, name .. '.was')
    swap(name)
  end,
})
