--- The journal of this Neovim: by it pending edits and checkpoints outlive the host, and nothing of
--- it outlives Neovim (`acp_nvim/workspace/journal.py`).
local M = {}

--- Its name: the time, the machine and the process (`acp_nvim/workspace/runs.py`).
M.name = ('%s-%s-%d'):format(
  os.date('%Y%m%d-%H%M%S'),
  (vim.uv.os_gethostname():gsub('[^%w-]', '_')),
  vim.fn.getpid()
)

local function remove()
  local home = vim.fn.stdpath('state') .. '/acp'
  local directory = home .. '/journal'
  os.remove(directory .. '/' .. M.name)
  os.remove(directory .. '/' .. M.name .. '.new')
  vim.uv.fs_rmdir(directory) -- does nothing where another Neovim has its own there
  vim.uv.fs_rmdir(home)
end

--- The host may be gone by the time Neovim ends, or write still.
M.watch = require('acp.base.once')(function()
  require('acp.base.autocmds').group('acp.journal')('VimLeavePre', function()
    local channel = require('acp.base.host').channel()
    if channel then pcall(vim.rpcnotify, channel, 'acp', 'leaving', vim.empty_dict()) end
    remove()
  end)
end)

return M
