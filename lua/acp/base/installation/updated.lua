--- Updates of the plugin while Neovim runs. Modules are loaded late, so code of both versions would
--- run together until Neovim is restarted.
local M = {}

--- Return whether git has checked out another commit since a time, in seconds, according to the
--- reflog of HEAD. Commits and checkouts of the same commit are in it too, but change no file.
---@param root string
---@param since integer
local function has_new_commit(root, since)
  local folder = require('acp.base.installation.version').git_folder(root)
  local log = require('acp.base.read_file')(folder .. '/logs/HEAD') or ''
  return vim.iter(vim.gsplit(log, '\n')):any(function(line)
    local old, new, time, action = line:match('^(%x+) (%x+) .*> (%d+) %S+\t?(.*)$')
    return old ~= new and tonumber(time) > since and not vim.startswith(action, 'commit')
  end)
end

--- Return whether the file with the plugin's version was written since a time. The time of the last
--- status change is compared, because package managers preserve the modification time.
---@param root string
---@param since integer
local function has_new_version(root, since)
  local stat = vim.uv.fs_stat(root .. '/acp_nvim/__init__.py')
  return stat ~= nil and stat.ctime.sec > since
end

--- Return whether the plugin was updated after Neovim had loaded it.
---@return boolean
function M.is_updated()
  local loaded_at = vim.g.loaded_acp
  if type(loaded_at) ~= 'number' or loaded_at <= 1 then return false end -- set by the user
  local root = require('acp.base.host.python').root()
  return has_new_version(root, loaded_at) or has_new_commit(root, loaded_at)
end

--- Frame operation: show an internal error, or its likely cause if the plugin was updated.
---@param text string
function M.show_fault(text)
  require('acp.base.notify').error(M.is_updated() and require('acp.base.messages').updated or text)
end

return M
