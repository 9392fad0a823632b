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

--- Return the files of git that determine the commit of a work tree: HEAD, and the file of the
--- branch that it names. Files may be missing.
---@param root string
---@return string[] files
---@return string|nil ref such as `refs/heads/main`
---@return string|nil folder that contains the refs
function M.head_files(root)
  local folder = root .. '/.git'
  local pointer = first_line(folder) -- a file in a linked work tree or a submodule
  if pointer then folder = resolved(root, (pointer:gsub('^gitdir: ', ''))) end
  local head = folder .. '/HEAD'
  local ref = (first_line(head) or ''):match('^ref: (.+)')
  if not ref then return { head } end
  local refs_folder = resolved(folder, first_line(folder .. '/commondir') or '')
  return { head, resolved(refs_folder, ref) }, ref, refs_folder
end

--- Return the commit of a work tree. It runs no git, which could be another program of that name.
---@param root string
---@return string|nil
local function commit(root)
  local files, ref, refs_folder = M.head_files(root)
  if not ref then return first_line(files[1]) end
  local packed = read(refs_folder .. '/packed-refs') or ''
  return first_line(files[2]) or packed:match('(%x+) ' .. vim.pesc(ref) .. '\n')
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
