local stands, goes_on = ...
io.open(stands, 'w'):close()
while not vim.uv.fs_stat(goes_on) do
  vim.uv.sleep(1)
end
