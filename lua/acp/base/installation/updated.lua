--- Updates of the plugin while Neovim runs. Modules are loaded late, so code of both versions would
--- run together until Neovim is restarted.
local M = {}

--- Return files that an update writes: those that determine git's commit, and the one with the
--- plugin's version.
---@return string[]
local function written_by_updates()
  local root = require('acp.base.host.python').root()
  local files = require('acp.base.installation.version').head_files(root)
  files[#files + 1] = root .. '/acp_nvim/__init__.py'
  return files
end

--- Return whether the plugin was updated after Neovim had loaded it.
---@return boolean
function M.is_updated()
  local loaded_at = vim.g.loaded_acp
  if type(loaded_at) ~= 'number' or loaded_at <= 1 then return false end -- set by the user
  return vim.iter(written_by_updates()):any(function(path)
    local stat = vim.uv.fs_stat(path)
    return stat ~= nil and stat.ctime.sec > loaded_at
  end)
end

--- Frame operation: show an internal error, or its likely cause if the plugin was updated.
---@param text string
function M.show_fault(text)
  require('acp.base.notify').error(M.is_updated() and require('acp.base.messages').updated or text)
end

return M
