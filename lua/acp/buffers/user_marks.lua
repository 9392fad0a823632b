--- Preservation of the marks `'[`, `']`, `'.` and the change list, which record the user's own
--- changes, during an agent's edit.
local M = {}

local api = vim.api
local ns = api.nvim_create_namespace('acp.user_marks')

local action ---@type fun() the edit for `run`

--- Run the edit passed to `keep`. |:keepjumps| preserves `'.` and the change list, but works only
--- for commands, so `keep` calls this from one.
function M.run() action() end

---@return table<string, { [1]: integer, [2]: integer }> extmark and column by mark
local function save_marks(bufnr)
  local saved = {}
  for _, mark in ipairs({ '[', ']' }) do
    local lnum, col = unpack(api.nvim_buf_get_mark(bufnr, mark))
    if lnum > 0 and lnum <= api.nvim_buf_line_count(bufnr) then
      saved[mark] = { api.nvim_buf_set_extmark(bufnr, ns, lnum - 1, 0, {}), col }
    end
  end
  return saved
end

local function restore_marks(bufnr, saved)
  for mark, position in pairs(saved) do
    local row = api.nvim_buf_get_extmark_by_id(bufnr, ns, position[1], {})[1]
    api.nvim_buf_del_extmark(bufnr, ns, position[1])
    local last = api.nvim_buf_line_count(bufnr)
    if row then api.nvim_buf_set_mark(bufnr, mark, math.min(row + 1, last), position[2], {}) end
  end
end

--- Call `edit`, which changes the buffer, and return its results. Marks move only with the text.
---@generic T
---@param edit fun(...): T
---@return T
function M.keep(bufnr, edit, ...)
  if not api.nvim_buf_is_loaded(bufnr) then return edit(...) end
  local args, results = { n = select('#', ...), ... }, {}
  local saved = save_marks(bufnr)
  action = function() results = { pcall(edit, unpack(args, 1, args.n)) } end
  local command = { cmd = 'lua', args = { "require('acp.buffers.user_marks').run()" } }
  api.nvim_cmd(vim.tbl_extend('error', command, { mods = { keepjumps = true } }), {})
  if api.nvim_buf_is_loaded(bufnr) then restore_marks(bufnr, saved) end
  if not results[1] then error(results[2], 0) end
  return unpack(results, 2, table.maxn(results))
end

return M
