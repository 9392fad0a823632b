--- Actions of the keys in a list of checkpoints, `acp://checkpoints/{n}`.
local M = {}

--- Pattern of a checkpoint's first line: its number, the time, and the beginning of the prompt.
local HEAD = [[^ *\d\+  \d\d:\d\d:\d\d  ]]

--- Send a verb for the session of a list.
local function notify_host(verb, bufnr, args)
  args.session = tonumber(vim.api.nvim_buf_get_name(bufnr):match('(%d+)$'))
  require('acp.base.host').notify(verb, args)
end

--- Send a verb for the checkpoint under the cursor. If there is none, show a message.
---@return boolean sent
local function notify_here(verb, bufnr, args)
  local line = vim.fn.search(HEAD, 'bcnW')
  args.n = line > 0 and tonumber(vim.fn.getline(line):match('%d+')) or nil
  if args.n then
    notify_host(verb, bufnr, args)
  else
    require('acp.base.notify').show('info', 'no_checkpoint_here')
  end
  return args.n ~= nil
end

function M.changes(bufnr)
  if notify_here('changes', bufnr, {}) then require('acp.ui.report').allow_focus() end
end

--- Restore the files that agents changed.
function M.restore(bufnr) notify_here('restore', bufnr, { list = true }) end

--- Restore all files, including those that only the user changed.
function M.restore_all(bufnr) notify_here('restore', bufnr, { every = true, list = true }) end

function M.undo(bufnr) notify_host('restore', bufnr, { list = true }) end

--- Compare the checkpoints with the current files again.
function M.refresh(bufnr) notify_host('checkpoints', bufnr, {}) end

return M
