-- The event loop must not run before the host is a zombie: it would close the channel.
local function state_of(pid)
  local pipe = assert(io.popen('ps -o stat= -p ' .. pid))
  local state = pipe:read('*a')
  pipe:close()
  return state
end

local id = require('acp.base.host').channel()
local pid = vim.fn.jobpid(id)
vim.uv.kill(pid, 'sigkill')
while not state_of(pid):find('^Z') do
end
vim.schedule(function()
  vim.fn.chanclose(id, 'rpc')
  require('acp.base.host').notify('refresh', vim.empty_dict())
end)
