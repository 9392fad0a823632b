--- The pending hunk under the cursor: where it is, how to get to the next one, what to do with
--- it. Hunks are the extmarks of namespace `acp.hunks`, each from its first to its last line.
local M = {}

local ns = vim.api.nvim_create_namespace('acp.hunks')

--- Rows on which a hunk of the buffer begins, 0-based, ascending.
---@param bufnr integer
---@return integer[]
local function rows(bufnr)
  local found, last = {}, -1
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(bufnr, ns, 0, -1, {})) do
    if mark[2] ~= last then
      last = mark[2]
      found[#found + 1] = last
    end
  end
  return found
end

--- Index of the hunk `count` steps from `row`, going round at the ends.
---@param list integer[]
---@param row integer
---@param count integer not 0
---@return integer
local function index(list, row, count)
  local before, at = 0, 0
  for i, first in ipairs(list) do
    before = first < row and i or before
    at = first <= row and i or at
  end
  local from = count > 0 and at or before + 1
  return (from + count - 1) % #list + 1
end

--- Go to the next (`count` > 0) or previous pending hunk of the current buffer.
---@param count integer
function M.jump(count)
  local list = rows(vim.api.nvim_get_current_buf())
  if #list == 0 then
    require('acp.notify').echo('info', 'no pending hunk in this buffer')
    return
  end
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  vim.cmd("normal! m'")
  vim.api.nvim_win_set_cursor(0, { list[index(list, row, count)] + 1, 0 })
  vim.cmd('normal! ^')
end

--- Path and line of the cursor, as the verbs `accept`, `reject` and `comment` take them.
---@return { path: string, line: integer, bufnr: integer }
function M.here()
  local bufnr = vim.api.nvim_get_current_buf()
  local name = vim.api.nvim_buf_get_name(bufnr)
  local base = name:match('^acp://base/%d+//(.*)$')
  return {
    path = base and vim.fs.normalize(base) or require('acp.context').path(bufnr),
    line = vim.api.nvim_win_get_cursor(0)[1],
    bufnr = bufnr,
  }
end

--- Accept or reject the hunk under the cursor, the file's hunks or all.
---@param verb 'accept'|'reject'
---@param scope 'hunk'|'file'|'all'
function M.decide(verb, scope)
  local args = M.here()
  args.scope = scope
  if scope ~= 'all' and args.path == '' then
    require('acp.notify').error('this buffer has no file')
    return
  end
  require('acp.host').notify(verb, args)
end

return M
