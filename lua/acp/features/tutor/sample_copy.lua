--- Copies of the tutor's sample project, one for each tour. They are deleted after a day.
local M = {}

local uv = vim.uv
local DAY_S = 24 * 60 * 60

---@return string
local function home() return vim.fs.joinpath(vim.fn.stdpath('data'), 'acp', 'tutor') end

---@return string directory
local function copy()
  local root = require('acp.base.host.python').root()
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

--- Create a new copy, and delete copies that are older than a day.
---@return string directory
function M.directory()
  for name, kind in vim.fs.dir(home()) do
    local created = kind == 'directory' and tonumber(name:match('^%d+'))
    if created and os.time() - created > DAY_S then
      vim.fn.delete(vim.fs.joinpath(home(), name), 'rf')
    end
  end
  return copy()
end

return M
