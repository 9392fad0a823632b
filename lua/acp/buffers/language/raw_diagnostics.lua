--- Access to diagnostics without copies. `vim.diagnostic.get()` copies all of them, which blocks
--- Neovim for tens of milliseconds if there are thousands, and cannot return only a part.
local M = {}

local slices = require('acp.base.slices')

local CHUNK = 250

local function identity(value) return value end

--- Return Neovim's own diagnostic tables of a buffer. Callers must not change them.
---@param bufnr integer
---@param opts? vim.diagnostic.GetOpts
---@return vim.Diagnostic[]
function M.get(bufnr, opts)
  if not package.loaded['vim.diagnostic'] then return {} end
  local copy = vim.deepcopy
  rawset(vim, 'deepcopy', identity) -- only during the next line, in which no other code runs
  local ok, diagnostics = pcall(vim.diagnostic.get, bufnr, opts)
  rawset(vim, 'deepcopy', copy)
  if not ok then error(diagnostics, 0) end
  return diagnostics
end

--- Call `each` for every item of a list, in a job of `acp.base.slices`.
---@param list vim.Diagnostic[]
---@param each fun(one: vim.Diagnostic)
function M.each(list, each)
  for i, diagnostic in ipairs(list) do
    each(diagnostic)
    if i % CHUNK == 0 then slices.check() end
  end
end

local function is_before(a, b) return a.lnum < b.lnum or a.lnum == b.lnum and a.col < b.col end

--- Return the first `most` items of a list by position, in that order, in a job of
--- `acp.base.slices`.
---@param list vim.Diagnostic[]
---@param most integer
---@return vim.Diagnostic[]
function M.first(list, most)
  local first = {}
  M.each(list, function(diagnostic)
    if #first >= most and not (most > 0 and is_before(diagnostic, first[most])) then return end
    local at = #first + 1
    while at > 1 and is_before(diagnostic, first[at - 1]) do
      at = at - 1
    end
    table.insert(first, at, diagnostic)
    first[most + 1] = nil
  end)
  return first
end

return M
