local id = require('acp.base.host').channel()
local pid = vim.fn.jobpid(id)
vim.uv.kill(pid, 'sigkill')
while not vim.fn.readfile(('/proc/%d/stat'):format(pid))[1]:find(') Z ', 1, true) do
end
vim.schedule(function()
  vim.fn.chanclose(id, 'rpc')
  require('acp.base.host').notify('refresh', vim.empty_dict())
end)
