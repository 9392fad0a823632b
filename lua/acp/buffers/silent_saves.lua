--- Detection of saves that trigger no autocommand: those by autocommands that are not `++nested`,
--- as in `autocmd TextChanged * silent! update`, and those by `:noautocmd`. The undo tree counts
--- writes.
local M = {}

local api = vim.api

---@class acp.Writes
---@field tick integer 'changedtick' when the writes were counted
---@field count integer writes of the buffer since its undo history began

local known = {} ---@type table<integer, acp.Writes> by buffer of a file
local listeners = {} ---@type (fun(bufnr: integer))[]

local function is_file(bufnr)
  return api.nvim_buf_is_loaded(bufnr)
    and vim.bo[bufnr].buftype == ''
    and api.nvim_buf_get_name(bufnr) ~= ''
end

--- Return the number of times that a buffer was written to its own file. Vim script evaluates it,
--- because converting the whole tree to a Lua table would take twice as long.
---@return integer
function M.count(bufnr) return api.nvim_eval(('undotree(%d).save_last'):format(bufnr)) end

--- Record the current number of writes of a buffer.
function M.note(bufnr)
  if is_file(bufnr) then
    known[bufnr] = { tick = api.nvim_buf_get_changedtick(bufnr), count = M.count(bufnr) }
  end
end

--- Add a callback for buffers that were saved silently.
---@param callback fun(bufnr: integer)
function M.listen(callback) listeners[#listeners + 1] = callback end

--- Call the listeners if the buffer was saved silently since the last check.
function M.check(bufnr)
  local last = known[bufnr]
  if not last then
    M.note(bufnr)
    return
  end
  local tick = api.nvim_buf_is_loaded(bufnr) and api.nvim_buf_get_changedtick(bufnr)
  if not tick or tick == last.tick or vim.bo[bufnr].modified then return end
  M.note(bufnr)
  if known[bufnr].count > last.count then
    for _, listener in ipairs(listeners) do
      listener(bufnr)
    end
  end
end

local function check_all()
  for bufnr in pairs(known) do
    M.check(bufnr)
  end
end

--- Check all buffers, so that all saves so far are reported.
function M.check_buffers()
  for _, bufnr in ipairs(api.nvim_list_bufs()) do
    M.check(bufnr)
  end
end

--- Register the autocommands after all of the user's, so that saves by those are detected at once.
function M.come_last()
  local add = require('acp.base.autocmds').group('acp.silent_saves')
  local function on(events, callback)
    add(events, function(args) callback(args.buf) end)
  end
  on({ 'BufReadPost', 'BufWritePost', 'FileChangedShellPost' }, M.note)
  on({ 'BufUnload' }, function(bufnr) known[bufnr] = nil end)
  on({ 'TextChanged', 'TextChangedI', 'TextChangedP' }, M.check)
  on({ 'InsertLeave', 'CursorHold', 'CursorHoldI' }, M.check)
  on({ 'BufLeave', 'WinLeave', 'TabLeave', 'FocusLost', 'FocusGained', 'VimSuspend' }, check_all)
  M.check_buffers()
end

return M
