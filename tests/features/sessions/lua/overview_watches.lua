-- Count the means that keep the overview current: handlers of the state, and watched folders.
local count = 0
vim.uv.walk(function(handle)
  local is_folder = handle:get_type() == 'fs_event' and handle:is_active()
  if is_folder and handle:getpath():find('acp/neovims', 1, true) then count = count + 1 end
end)
local ok, found = pcall(vim.api.nvim_get_autocmds, { group = 'acp.overview', event = 'User' })
return count + (ok and #found or 0)
