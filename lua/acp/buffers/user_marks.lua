--- Marks of a buffer that say where the user last changed something: `'[`, `']`, `'.`, and the
--- change list. An edit that is not the user's leaves them to the user.
local M = {}

local api = vim.api
local ns = api.nvim_create_namespace('acp.user_marks')

local action ---@type fun() what `run` has to do

--- Do what `keep` was asked for. Neovim itself keeps `'.` and the change list under |:keepjumps|,
--- which is for commands only.
function M.run() action() end

---@return table<string, { [1]: integer, [2]: integer }> extmark and column by mark
local function noted(bufnr)
  local found = {}
  for _, mark in ipairs({ '[', ']' }) do
    local lnum, col = unpack(api.nvim_buf_get_mark(bufnr, mark))
    if lnum > 0 and lnum <= api.nvim_buf_line_count(bufnr) then
      found[mark] = { api.nvim_buf_set_extmark(bufnr, ns, lnum - 1, 0, {}), col }
    end
  end
  return found
end

local function put_back(bufnr, found)
  for mark, it in pairs(found) do
    local row = api.nvim_buf_get_extmark_by_id(bufnr, ns, it[1], {})[1]
    api.nvim_buf_del_extmark(bufnr, ns, it[1])
    local last = api.nvim_buf_line_count(bufnr)
    if row then api.nvim_buf_set_mark(bufnr, mark, math.min(row + 1, last), it[2], {}) end
  end
end

--- Call `edit`, which changes the buffer; return its results. The marks move with the text only.
---@generic T
---@param edit fun(...): T
---@return T
function M.keep(bufnr, edit, ...)
  local args, results = { n = select('#', ...), ... }, {}
  local found = noted(bufnr)
  action = function() results = { pcall(edit, unpack(args, 1, args.n)) } end
  local command = { cmd = 'lua', args = { "require('acp.buffers.user_marks').run()" } }
  api.nvim_cmd(vim.tbl_extend('error', command, { mods = { keepjumps = true } }), {})
  if api.nvim_buf_is_loaded(bufnr) then put_back(bufnr, found) end
  if not results[1] then error(results[2], 0) end
  return unpack(results, 2, table.maxn(results))
end

return M
