--- Version of the plugin, and the commit of a git clone.
local M = {}

--- Return a line such as `0.1.0 (4f2a91c)`. It runs git.
---@return string
function M.line()
  local root = require('acp.base.host.python').root()
  local project = require('acp.base.read_file')(root .. '/pyproject.toml') or ''
  local version = project:match('\nversion = "([^"]+)"') or 'unknown'
  if not vim.uv.fs_stat(root .. '/.git') or vim.fn.executable('git') == 0 then return version end
  local argv = { 'git', '-C', root, 'describe', '--always', '--exclude=*', '--dirty' }
  local result = vim.system(argv, { text = true, timeout = 2000 }):wait()
  if result.code ~= 0 then return version end
  return ('%s (%s)'):format(version, vim.trim(result.stdout))
end

return M
