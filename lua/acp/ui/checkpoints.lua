--- Keys of the list of checkpoints, `acp://checkpoints/{n}`: each acts on the one under the cursor.
local M = {}

--- A checkpoint's first line: its number, the time, and how the prompt begins.
local HEAD = [[^ *\d\+  \d\d:\d\d:\d\d  ]]

--- Send a verb for the session of a list.
local function ask(verb, bufnr, args)
  args.session = tonumber(vim.api.nvim_buf_get_name(bufnr):match('(%d+)$'))
  require('acp.base.host').notify(verb, args)
end

--- The same for the checkpoint under the cursor; it is said where there is none.
---@return boolean asked
local function ask_here(verb, bufnr, args)
  local line = vim.fn.search(HEAD, 'bcnW')
  args.n = line > 0 and tonumber(vim.fn.getline(line):match('%d+')) or nil
  if args.n then
    ask(verb, bufnr, args)
  else
    require('acp.base.notify').echo('info', require('acp.base.messages').no_checkpoint_here)
  end
  return args.n ~= nil
end

--- Show what changed since.
function M.changes(bufnr)
  if ask_here('changes', bufnr, {}) then require('acp.ui.report').expect() end
end

--- Bring back what agents changed.
function M.restore(bufnr) ask_here('restore', bufnr, { list = true }) end

--- Bring all files back, those that only the user changed too.
function M.restore_all(bufnr) ask_here('restore', bufnr, { every = true, list = true }) end

--- Take the last restore back.
function M.undo(bufnr) ask('restore', bufnr, { list = true }) end

--- Compare with the present files again.
function M.refresh(bufnr) ask('checkpoints', bufnr, {}) end

return M
