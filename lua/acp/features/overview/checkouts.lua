--- Git checkouts of directories, read from their files without starting git.
local M = {}

local read_file = require('acp.base.read_file')

---@class acp.Checkout
---@field repository string path that all worktrees share; the directory outside of git
---@field branch? string branch, or the first digits of a detached commit
---@field main? string directory of the main worktree, unless this is the main one

local known = {} ---@type table<string, acp.Checkout> by directory

local COMMIT = 7 -- digits

---@param git string git directory of a worktree
---@return string|nil
local function branch(git)
  local head = vim.trim(read_file(git .. '/HEAD') or '')
  local name = head:match('^ref: refs/heads/(.+)$')
  return name or (head:match('^%x+$') and head:sub(1, COMMIT)) or nil
end

---@param path string
---@param base string directory of a relative path
local function resolve(path, base)
  return vim.uv.fs_realpath(require('acp.base.paths').absolute(path, base)) or path
end

---@param top string directory that has `.git`
---@return acp.Checkout
local function checkout(top, is_folder)
  local git = top .. '/.git'
  if is_folder then return { repository = resolve(git, top), branch = branch(git) } end
  local target = vim.trim(read_file(git) or ''):match('^gitdir:%s*(.+)$')
  if not target then return { repository = top } end
  git = resolve(target, top)
  local common = vim.trim(read_file(git .. '/commondir') or '')
  local repository = common ~= '' and resolve(common, git) or git
  local main = common ~= '' and vim.fs.basename(repository) == '.git' and vim.fs.dirname(repository)
  return { repository = repository, branch = branch(git), main = main or nil }
end

---@return acp.Checkout
local function find(directory)
  local real = vim.uv.fs_realpath(directory) or directory
  local at = real
  while at and at ~= '' do
    local stat = vim.uv.fs_stat(at .. '/.git')
    if stat then return checkout(at, stat.type == 'directory') end
    local parent = vim.fs.dirname(at)
    if parent == at then break end
    at = parent
  end
  return { repository = real }
end

--- Return the checkout of a directory, from the cache if it is there.
---@param directory string
---@return acp.Checkout
function M.of(directory)
  known[directory] = known[directory] or find(directory)
  return known[directory]
end

--- Forget all checkouts, because a branch may have changed.
function M.forget() known = {} end

return M
