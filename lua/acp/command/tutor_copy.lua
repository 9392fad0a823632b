--- Copies of the tutor's sample project, one for each tour. They are kept for a day.
local M = {}

local uv = vim.uv
local DAY_S = 24 * 60 * 60

---@return string
local function home() return vim.fs.joinpath(vim.fn.stdpath('data'), 'acp', 'tutor') end

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

--- A new copy. Those of other days are deleted.
---@return string directory
function M.directory()
  for name, kind in vim.fs.dir(home()) do
    local made = kind == 'directory' and tonumber(name:match('^%d+'))
    if made and os.time() - made > DAY_S then vim.fn.delete(vim.fs.joinpath(home(), name), 'rf') end
  end
  return copied()
end

return M
