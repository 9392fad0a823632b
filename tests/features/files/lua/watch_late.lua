--- Make Neovim slow between a prompt and its watch of the files: until a file has this text.
local path, text = ...
local disk_changes = require('acp.buffers.disk_changes')
local after_prompt = disk_changes.after_prompt

local function is_changed()
  local file = assert(io.open(path, 'rb'))
  local found = file:read('*a')
  file:close()
  return found == text
end

disk_changes.after_prompt = function(args)
  local is_fast_only = true -- no request of the host is served meanwhile
  _G.watched_late = vim.wait(20000, is_changed, 1, is_fast_only)
  after_prompt(args)
end
