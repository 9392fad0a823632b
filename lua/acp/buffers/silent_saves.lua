--- Saves of the user's that no autocommand tells of: those by autocommands that are not `++nested`,
--- as in `autocmd TextChanged * silent! update`, and by `:noautocmd`. Neovim counts what it writes.
local M = {}

local api = vim.api

---@class acp.Writes
---@field tick integer 'changedtick' when they were counted
---@field count integer of the buffer to its file, since there is an undo history of it

local known = {} ---@type table<integer, acp.Writes> by buffer of a file
local listeners = {} ---@type (fun(bufnr: integer))[]

local function is_file(bufnr)
  return api.nvim_buf_is_loaded(bufnr)
    and vim.bo[bufnr].buftype == ''
    and api.nvim_buf_get_name(bufnr) ~= ''
end

--- By an expression: as a Lua table the whole tree would cost twice as much.
local function count(bufnr) return api.nvim_eval(('undotree(%d).save_last'):format(bufnr)) end

--- Count the writes of the buffer until now.
function M.note(bufnr)
  if is_file(bufnr) then
    known[bufnr] = { tick = api.nvim_buf_get_changedtick(bufnr), count = count(bufnr) }
  end
end

--- Call this for each buffer that has been saved silently.
---@param callback fun(bufnr: integer)
function M.listen(callback) listeners[#listeners + 1] = callback end

--- Whether the buffer has been saved silently since this was asked last: then all are told.
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

--- Look at all buffers, so that the saves so far are told.
function M.look()
  for _, bufnr in ipairs(api.nvim_list_bufs()) do
    M.check(bufnr)
  end
end

--- Come after all autocommands that the user has by now, so that what they save is seen at once.
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
  M.look()
end

return M
