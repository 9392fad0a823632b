--- Files that an agent changed on disk by itself, brought to their buffers by hunks. Neovim asks
--- nothing about such files (W11, W12, W13, E211); the user's `:write` stays Neovim's own.
local M = {}

local api, uv = vim.api, vim.uv
local buffers, save = require('acp.buffers.live'), require('acp.buffers.save')
local watch = require('acp.buffers.watch')
local file_stamp, text = require('acp.buffers.file_stamp'), require('acp.buffers.text')
local nofollow = require('acp.buffers.nofollow')

local PATIENCE_MS = 2000 -- how long a user's `:w` waits for a file's change to be merged

local MOST_BYTES = 64 * 1024 -- of unsaved text that goes with a prompt

local stamps = {} ---@type table<integer, string> the file as the buffer knows it, while turns run
local looking = {} ---@type table<string, integer> files that the host looks at, and their buffers
-- Autocommands while turns run.
local on, answers = require('acp.base.autocmds').group('acp.disk_changes')
local before, writes = require('acp.base.autocmds').group('acp.user_writes')

--- Neovim has the file of a buffer as it is now.
local function stamp_again(bufnr) stamps[bufnr] = stamps[bufnr] and file_stamp.of_buffer(bufnr) end

--- The buffer of a file as it is, not brought up to date. Like `acp.buffers.live`; while turns run
--- the file's stamp comes last, as it was when the buffer was read, written or brought up to date.
function M.peek(path, real)
  local answer = buffers.peek(path, real)
  if answer[1] > 0 then answer[6] = stamps[answer[1]] end
  return answer
end

--- Have the host look at a file that changed on disk: it is an agent's doing, or not.
---@param read? boolean Neovim has read it just now
---@return string|nil path real; nil where there is no such file, or no host
local function look(bufnr, read)
  local path = uv.fs_realpath(api.nvim_buf_get_name(bufnr))
  local host = require('acp.base.host')
  if path and host.running() then
    looking[path] = bufnr
    local args = { path = path }
    if read then
      args.lines = api.nvim_buf_get_lines(bufnr, 0, -1, true)
      args.eol = text.ends(bufnr)
    end
    host.notify('disk_changed', args)
    return path
  end
end

--- The host has looked at it, and merged what could be.
---@param same string|userdata the file's stamp where its text has not changed, else vim.NIL
function M.looked(path, same)
  local bufnr = looking[path]
  looking[path] = nil
  if bufnr and api.nvim_buf_is_loaded(bufnr) and file_stamp.at(path) == same then
    save.same(bufnr)
    stamps[bufnr] = stamps[bufnr] and same
  end
end

--- The host is gone: nothing that it was asked to look at will be.
function M.host_gone()
  looking = {}
  M.quiet(false)
end

--- Whether the host has looked at all that it was asked to.
function M.settled() return next(looking) == nil end

--- The user saves a buffer whose file an agent has changed since: first both texts are made one.
--- Where they are in conflict, this save is not its end.
---@param args { buf: integer, match: string }
local function settle(args)
  local bufnr, name = args.buf, api.nvim_buf_get_name(args.buf)
  local path, now = uv.fs_realpath(name), file_stamp.at(name)
  local own = args.match == name or (path ~= nil and uv.fs_realpath(args.match) == path)
  if not own or watch.held(bufnr) or not now or not stamps[bufnr] then return end
  local known = save.in_conflict(bufnr)
  if now ~= stamps[bufnr] then look(bufnr) end
  if not looking[path] then return end
  vim.wait(PATIENCE_MS, function() return not looking[path] end, 5)
  if save.in_conflict(bufnr) and not known then
    watch.unaware(bufnr)
    local message = require('acp.base.messages').changed_on_disk
    require('acp.base.notify').echo('warn', message:format(vim.fs.basename(name)))
  end
end

--- An error would not keep Neovim from a write, and from Lua an interrupt is an error.
local REFUSE = "if v:lua.require'acp.buffers.disk_changes'"
  .. ".refuses(str2nr(expand('<abuf>')), expand('<amatch>')) | call interrupt() | endif"

--- Whether the user's own write is refused: no file is there any more, and Neovim would wait for a
--- pipe.
---@param bufnr integer
---@param match string the path that is written
---@return boolean
function M.refuses(bufnr, match)
  settle({ buf = bufnr, match = match })
  local stat = uv.fs_stat(match)
  local own = match == api.nvim_buf_get_name(bufnr) and not watch.held(bufnr)
  if not own or not stat or stat.type == 'file' then return false end
  local message = require('acp.base.messages').not_a_file
  message = message:format(vim.fs.basename(match), stat.type)
  vim.schedule(function() require('acp.base.notify').error(message) end)
  return true
end

--- Whether a write is under way that has not come to its file yet.
local function is_writing() return vim.fn.expand('<stack>'):find('BufWritePre', 1, true) ~= nil end

--- Forget the user's writes, of one buffer or all. One that is under way still comes to `refuses`:
--- its autocommands may wait for programs, and the host tells of turns meanwhile.
local function let_write(bufnr)
  if not is_writing() then api.nvim_clear_autocmds({ group = writes, buffer = bufnr }) end
end

--- Look at the user's writes of the buffer after all autocommands that there are by now.
local function look_at_writes(bufnr)
  let_write(bufnr)
  if #api.nvim_get_autocmds({ group = writes, buffer = bufnr }) > 0 then return end
  before('BufWritePre', REFUSE, { buffer = bufnr, nested = true })
end

--- Bring a buffer that is at `tick` to what its file's change made of it. `stamp` is the file's as
--- the host read it (nil: it is gone). `want` has `eol`, `empty`, and `modified`: whether unsaved
--- edits are left. Returns `{ outcome, why, snapshot? }` like `write` of `acp.buffers.live`.
function M.take(bufnr, tick, hunks, want, stamp)
  if not api.nvim_buf_is_loaded(bufnr) or api.nvim_buf_get_changedtick(bufnr) ~= tick then
    return { 'moved' }
  end
  if file_stamp.of_buffer(bufnr) ~= (stamp ~= vim.NIL and stamp or nil) then return { 'moved' } end
  local why_not = require('acp.buffers.user_busy').busy(bufnr, hunks)
  if why_not then return { 'busy', why_not } end
  watch.flush(bufnr)
  watch.hold(bufnr)
  local modifiable = vim.bo[bufnr].modifiable
  vim.bo[bufnr].modifiable = true -- a view of the file, as 'autoread' keeps it current
  local keep = require('acp.buffers.user_marks').keep
  local ok, err = keep(bufnr, buffers.edit, bufnr, hunks, want)
  vim.bo[bufnr].modifiable = modifiable
  if ok then
    buffers.part_undo(bufnr)
    save.adopt(bufnr, want.modified)
    stamp_again(bufnr)
  end
  watch.release(bufnr)
  if not ok then return { save.is_locked(err) and 'busy' or 'failed', save.reason(err) } end
  return { 'done', '', buffers.snapshot(bufnr) }
end

--- The file of a buffer with other unsaved edits changed: nothing is touched, nothing is asked.
function M.part(bufnr)
  if api.nvim_buf_is_loaded(bufnr) then
    save.mark_conflict(bufnr)
    stamp_again(bufnr)
  end
end

--- A buffer whose file is no more: emptied, in one undo step, and gone unless a window shows it.
--- One that is no longer at `tick` holds what the user has typed since: it stays.
function M.vacate(bufnr, tick)
  if not api.nvim_buf_is_loaded(bufnr) then return end
  if api.nvim_buf_get_changedtick(bufnr) ~= tick then return end
  watch.flush(bufnr)
  watch.hold(bufnr)
  buffers.edit(bufnr, {}, { eol = true, empty = true })
  save.adopt(bufnr, false)
  watch.release(bufnr)
  if #vim.fn.win_findbuf(bufnr) == 0 then api.nvim_buf_delete(bufnr, { force = true }) end
end

--- How the file of a buffer is to be written from now on. Nothing of that is an unsaved edit.
---@param layout { fileencoding: string, bomb: boolean, fileformat: string }
function M.lay(bufnr, layout)
  local options = vim.bo[bufnr]
  local modified, modifiable = options.modified, options.modifiable
  options.modifiable = true
  for name, value in pairs(layout) do
    options[name] = value
  end
  options.modifiable, options.modified = modifiable, modified
end

--- The prompt is on its way.
function M.after_prompt()
  watch.expected()
  M.quiet(true)
end

--- Text of all loaded files with unsaved edits: `{ path, lines, eol }` each.
---@param most? integer bytes; nil is returned where there are more
function M.unsaved(most)
  local found, bytes = {}, 0
  for _, bufnr in ipairs(api.nvim_list_bufs()) do
    local name = api.nvim_buf_is_loaded(bufnr) and api.nvim_buf_get_name(bufnr) or ''
    if name ~= '' and vim.bo[bufnr].buftype == '' and vim.bo[bufnr].modified then
      bytes = bytes + math.max(api.nvim_buf_get_offset(bufnr, api.nvim_buf_line_count(bufnr)), 0)
      if most and bytes > most then return nil end
      found[#found + 1] = {
        path = uv.fs_realpath(name) or require('acp.base.paths').absolute(name),
        lines = api.nvim_buf_get_lines(bufnr, 0, -1, false),
        eol = text.ends(bufnr),
      }
    end
  end
  return found
end

--- Save the buffers of these files as `:write` would, but where that would ask.
---@param paths string[] real
---@return table<string, string> problems by path of what could not be saved
function M.save(paths)
  local problems = vim.empty_dict()
  for _, bufnr in ipairs(api.nvim_list_bufs()) do
    local name = api.nvim_buf_is_loaded(bufnr) and api.nvim_buf_get_name(bufnr) or ''
    local path = name ~= '' and (uv.fs_realpath(name) or require('acp.base.paths').absolute(name))
    if path and vim.tbl_contains(paths, path) and vim.bo[bufnr].modified then
      local outcome, why = save.check(bufnr, true, false)
      if not outcome then
        why = require('acp.buffers.write').write(bufnr, { autocmds = true }).why
      end
      problems[path] = why
    end
  end
  return problems
end

--- Neovim finds a file changed by a turn that runs. A clean buffer is read again. In one with
--- unsaved edits, or in which the user is at work, both texts stay until the host has merged them.
--- What is no file any more, or leads elsewhere, is not read: a pipe would be waited for.
local function changed(args, real)
  if save.probing then return end
  local clean = not vim.bo[args.buf].modified
  local in_use = require('acp.buffers.user_busy').holds_lines(args.buf)
  local stat = uv.fs_stat(api.nvim_buf_get_name(args.buf))
  local is_file = stat ~= nil and stat.type == 'file' and not nofollow.moved(args.buf, real)
  local readable = clean and not in_use and is_file and vim.v.fcs_reason ~= 'deleted'
  vim.v.fcs_choice = readable and 'reload' or ''
  if not clean then save.mark_conflict(args.buf, true) end
  if in_use or not clean then look(args.buf) end
end

---@param read? boolean it was read from its file just now
local function answer_for(bufnr, read)
  local name = api.nvim_buf_get_name(bufnr)
  local real = uv.fs_realpath(name)
  if vim.bo[bufnr].buftype ~= '' or name == '' or not watch.at_work(real) then return end
  real = watch.path(bufnr) or real
  api.nvim_clear_autocmds({ group = answers, buffer = bufnr })
  local known = stamps[bufnr]
  stamps[bufnr] = file_stamp.at(name)
  if read and known and known ~= stamps[bufnr] then look(bufnr, true) end
  look_at_writes(bufnr)
  on('FileChangedShell', function(args) changed(args, real) end, { buffer = bufnr })
  on('FileChangedShellPost', function()
    if not save.probing and not vim.bo[bufnr].modified then
      stamps[bufnr] = file_stamp.at(name)
      look(bufnr, true)
    end
  end, { buffer = bufnr })
end

require('acp.buffers.silent_saves').listen(stamp_again)

--- What turns changed has been brought to the buffers by now. Where a file is another one all the
--- same it may be one of the same text, of which Neovim need not warn whoever saves edits.
local function leave()
  for bufnr, known in pairs(stamps) do
    local ours = api.nvim_buf_is_loaded(bufnr) and not save.in_conflict(bufnr)
    local now = ours and file_stamp.of_buffer(bufnr)
    if now and now ~= known then look(bufnr) end
  end
end

--- The directories in which turns run now: files saved there are told, and Neovim asks nothing
--- about files there that change on disk.
---@param roots string[]
---@param heard? integer see `acp.buffers.watch`
function M.turns(roots, heard) M.quiet(watch.turns(roots, heard)) end

M.home = watch.home

--- What a prompt to session `n` tells of files, so that the host need not ask before it sends it:
--- that the turn is known to run here, and all text that is not saved, unless that is much.
--- `after_prompt` comes next.
---@param n integer
---@return table? args of the verb `prompt`
function M.before_prompt(n)
  local number = watch.expect(n)
  if not number then return nil end
  return { session = n, number = number, unsaved = M.unsaved(MOST_BYTES) }
end

--- Answer for the user in buffers of directories where turns run, or leave all as it was.
---@param active boolean
function M.quiet(active)
  api.nvim_clear_autocmds({ group = answers })
  let_write()
  require('acp.buffers.autoread').release()
  if not active then
    leave()
    stamps = {}
    return
  end
  local known = stamps
  stamps = {}
  for _, bufnr in ipairs(api.nvim_list_bufs()) do
    if api.nvim_buf_is_loaded(bufnr) then
      answer_for(bufnr)
      stamps[bufnr] = stamps[bufnr] and (known[bufnr] or stamps[bufnr]) -- what it knows stays
    end
  end
  local events = { 'BufReadPost', 'BufWritePost', 'BufFilePost' }
  on(events, function(args) answer_for(args.buf, args.event == 'BufReadPost') end)
  local function asks(bufnr) return stamps[bufnr] ~= nil end
  local function look_again() require('acp.buffers.autoread').changed(asks) end
  on('ModeChanged', look_again)
  look_again()
end

return M
