--- Copies of the tutor's sample project, one for each tour. They stay after Neovim, since the tour
--- has the user leave and come back to edits that are not decided.
local M = {}

local uv = vim.uv
local DAY_S = 24 * 60 * 60
--- The change that the tour leaves undecided (`acp_nvim/tutor/edits.py`).
local LEFT = 'Come back soon!'

---@return string
local function home() return vim.fs.joinpath(vim.fn.stdpath('data'), 'acp', 'tutor') end

--- Whether the tour waits in a directory for the user to come back.
---@param directory string
---@return boolean
local function waits(directory)
  local text = require('acp.base.read_file')(vim.fs.joinpath(directory, 'till.py'))
  local root = text and text:find(LEFT, 1, true) and uv.fs_realpath(directory)
  return root ~= nil and root and require('acp.base.workspaces').has(root, 'pending') or false
end

--- The names of the copies: when each was made. Newest first.
---@return string[]
local function made()
  local found = {}
  for name, kind in vim.fs.dir(home()) do
    if kind == 'directory' and tonumber(name:match('^%d+')) then found[#found + 1] = name end
  end
  table.sort(found, function(a, b) return a > b end)
  return found
end

---@return string directory
local function copied()
  local root = require('acp.base.python').root()
  local from = vim.fs.joinpath(root, 'acp_nvim', 'tutor', 'sample')
  local name = ('%d-%d'):format(os.time(), vim.fn.getpid())
  local to = vim.fs.joinpath(home(), name, 'sample')
  vim.fn.mkdir(to, 'p')
  for file, kind in vim.fs.dir(from) do
    if kind == 'file' then
      assert(uv.fs_copyfile(vim.fs.joinpath(from, file), vim.fs.joinpath(to, file)))
    end
  end
  return to
end

--- The directory where the tour waits, else a new copy; those of other days go.
---@return string directory
function M.directory()
  local here = vim.fn.getcwd()
  if waits(here) then return here end
  for _, name in ipairs(made()) do
    local directory = vim.fs.joinpath(home(), name, 'sample')
    if waits(directory) then return directory end
    if os.time() - tonumber(name:match('^%d+')) > DAY_S then
      vim.fn.delete(vim.fs.joinpath(home(), name), 'rf')
    end
  end
  return copied()
end

return M
