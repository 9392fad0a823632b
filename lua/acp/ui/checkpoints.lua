--- Keys of the list of checkpoints, `acp://checkpoints/{n}`: each acts on the one under the cursor.
local M = {}

--- A checkpoint's first line: its number, the time, and how the prompt begins.
local HEAD = [[^ *\d\+  \d\d:\d\d:\d\d  ]]

---@param bufnr integer
---@return integer n session
local function session(bufnr)
  return tonumber(vim.api.nvim_buf_get_name(bufnr):match('(%d+)$')) --[[@as integer]]
end

--- Number of the checkpoint under the cursor; it is said where there is none.
---@return integer|nil
local function number()
  local line = vim.fn.search(HEAD, 'bcnW')
  local n = line > 0 and tonumber(vim.fn.getline(line):match('%d+')) or nil
  if not n then
    require('acp.base.notify').echo('info', 'no checkpoint under the cursor')
  end
  return n
end

---@param verb string
---@param bufnr integer
---@param args table
local function ask(verb, bufnr, args)
  require('acp.base.host').notify(verb, vim.tbl_extend('error', { session = session(bufnr) }, args))
end

--- Show what changed since.
---@param bufnr integer
function M.changes(bufnr)
  local n = number()
  if n then
    require('acp.ui.report').expect()
    ask('changes', bufnr, { n = n })
  end
end

--- Bring back what agents changed.
---@param bufnr integer
function M.restore(bufnr)
  local n = number()
  if n then
    ask('restore', bufnr, { n = n, list = true })
  end
end

--- Bring all files back, those that only the user changed too.
---@param bufnr integer
function M.restore_all(bufnr)
  local n = number()
  if n then
    ask('restore', bufnr, { n = n, every = true, list = true })
  end
end

--- Take the last restore back.
---@param bufnr integer
function M.undo(bufnr)
  ask('restore', bufnr, { list = true })
end

--- What changed since each, as of now.
---@param bufnr integer
function M.refresh(bufnr)
  ask('checkpoints', bufnr, {})
end

return M
