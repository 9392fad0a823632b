--- Version of the plugin, and the commit of a git clone.
local M = {}

local read = require('acp.base.read_file')

local DIGITS = 8 -- of a commit

--- Return the first line of a file, without blanks around it.
---@param path string
---@return string|nil
local function first_line(path)
  local text = read(path)
  return text and vim.trim(text:match('^[^\n]*'))
end

--- Return a path that may be relative to a folder.
local function resolved(folder, path)
  return path:sub(1, 1) == '/' and path or vim.fs.joinpath(folder, path)
end

--- Return the git directory of a work tree.
---@param root string
---@return string
function M.git_folder(root)
  local folder = root .. '/.git'
  local pointer = first_line(folder) -- a file in a linked work tree or a submodule
  return pointer and resolved(root, (pointer:gsub('^gitdir: ', ''))) or folder
end

--- Return the commit of a work tree. It runs no git, which could be another program of that name.
---@param root string
---@return string|nil
local function commit(root)
  local folder = M.git_folder(root)
  local head = first_line(folder .. '/HEAD')
  local ref = head and head:match('^ref: (.+)')
  if not ref then return head end
  folder = resolved(folder, first_line(folder .. '/commondir') or '')
  local packed = read(folder .. '/packed-refs') or ''
  return first_line(resolved(folder, ref)) or packed:match('(%x+) ' .. vim.pesc(ref) .. '\n')
end

--- Return a line such as `0.1.0 (4f2a91c0)`.
---@return string
function M.line()
  local root = require('acp.base.host.python').root()
  local project = read(root .. '/pyproject.toml') or ''
  local version = project:match('\nversion = "([^"]+)"') or 'unknown'
  local hash = commit(root)
  return hash and ('%s (%s)'):format(version, hash:sub(1, DIGITS)) or version
end

return M
