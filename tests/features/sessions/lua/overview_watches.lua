-- Count the means that keep the overview current: handlers of the state, and watches of the folder.
-- The watches are counted in /proc, because vim.uv.walk() aborts Neovim 0.10.
local count = 0
local stat = vim.uv.fs_stat(vim.fn.stdpath('state') .. '/acp/neovims')
local inode = stat and ('ino:%x '):format(stat.ino) or '-'
for descriptor in vim.fs.dir('/proc/self/fdinfo') do
  local file = io.open('/proc/self/fdinfo/' .. descriptor)
  for line in file and file:lines() or function() end do
    local is_watch = line:match('^inotify ') and line:find(inode, 1, true)
    count = count + (is_watch and 1 or 0)
  end
  if file then file:close() end
end
local ok, found = pcall(vim.api.nvim_get_autocmds, { group = 'acp.overview', event = 'User' })
return count + (ok and #found or 0)
