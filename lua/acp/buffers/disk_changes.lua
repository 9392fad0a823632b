--- Changes that an agent made directly on disk, merged into the buffers as hunks. Neovim shows no
--- warnings about such files (W11, W12, W13, E211). The user's `:write` remains Neovim's own.
local M = {}

local api, uv = vim.api, vim.uv
local buffers, save = require('acp.buffers.live'), require('acp.buffers.save')
local watch = require('acp.buffers.watch')
local file_stamp, text = require('acp.base.host.file_stamp'), require('acp.buffers.text')
local nofollow = require('acp.buffers.nofollow')
local failed_writes = require('acp.buffers.failed_writes')

local MAX_WAIT_MS = 2000 -- longest wait of a user's `:w` for a file's change to be merged

local MAX_BYTES = 64 * 1024 -- of unsaved text sent with a prompt

local stamps = {} ---@type table<integer, string> stamp of the file last read or written, in turns
local fresh = {} ---@type table<integer, boolean> whether the stamp may hide a change to its tick
--- Buffers whose text may differ from the file that has the recorded stamp: the stamp was recorded
--- at the start of a turn, or the file was deleted.
local assumed = {} ---@type table<integer, true>
--- Stamps recorded before a change to the file that was not merged. The host knows the current text
--- of these files, but their buffers do not contain it.
local unmerged = {} ---@type table<integer, string>
local checking = {} ---@type table<string, integer> buffer of each file that the host is checking
local awaited ---@type integer|nil buffer whose save waits for the merge of its file
-- Autocommands while turns run: for changes on disk, and for the user's writes.
local on_change, changes = require('acp.base.autocmds').group('acp.disk_changes')
local on_write, writes = require('acp.base.autocmds').group('acp.user_writes')

local function record_stamp(bufnr)
  stamps[bufnr], fresh[bufnr] = file_stamp.of_buffer(bufnr)
  assumed[bufnr] = nil
end

--- Update the stamp of a buffer that now matches its file.
local function update_stamp(bufnr)
  if stamps[bufnr] then record_stamp(bufnr) end
end

--- Return a snapshot of a file's buffer without updating it, as `peek` of `acp.buffers.live` does.
--- The sixth item is the file's stamp when the buffer was last read, written or updated, if turns
--- ran at that time.
function M.peek(path, real)
  local answer = buffers.peek(path, real)
  if answer[1] > 0 and not assumed[answer[1]] then answer[6] = stamps[answer[1]] end
  return answer
end

--- Ask the host to check a file that changed on disk, because an agent may have changed it.
---@param read? boolean Neovim has just read it
---@return string|nil path real path, nil without a file or a host
local function request_check(bufnr, read)
  local path = uv.fs_realpath(api.nvim_buf_get_name(bufnr))
  local host = require('acp.base.host')
  if path and host.is_running() then
    checking[path] = bufnr
    fresh[bufnr] = select(2, file_stamp.of_path(path)) -- before the host reads it
    local args = { path = path }
    if read then
      args.lines = api.nvim_buf_get_lines(bufnr, 0, -1, true)
      args.eol = text.ends_with_newline(bufnr)
    end
    host.notify('disk_changed', args)
    return path
  end
end

--- Handle the end of a check: the host has merged the file's changes if possible. Record a change
--- that it did not merge. If the file has the same text as before, record the new stamp and make
--- Neovim accept the file.
---@param same string|userdata the file's stamp if its text has not changed, else vim.NIL
function M.on_checked(path, same)
  local bufnr = checking[path]
  checking[path] = nil
  if not bufnr or not api.nvim_buf_is_loaded(bufnr) then return end
  local known, now = stamps[bufnr], file_stamp.of_path(path)
  if same == vim.NIL and now ~= known then unmerged[bufnr] = known end
  if now ~= same or (known and unmerged[bufnr] == known) then return end
  if save.is_unmerged(bufnr) then return end
  if known ~= same then save.accept_same_text(bufnr) end
  stamps[bufnr] = known and same
end

--- Forget outstanding checks after the host has exited.
function M.on_host_exit()
  checking = {}
  M.quiet(false)
end

--- Return whether the host has finished all checks.
function M.is_settled() return next(checking) == nil end

--- Before the user saves a buffer, let the host merge an agent's change to the file, and wait for
--- that for at most `MAX_WAIT_MS`. If the texts conflict, show a warning; this save does not
--- resolve the conflict.
---@param match string the path to write
---@return 'unknown'|'unmerged'|nil missing the host has not answered in time, or has not merged the
---  file; Neovim will ask whether to overwrite it
local function merge_before_save(bufnr, match)
  local name = api.nvim_buf_get_name(bufnr)
  local path, now = uv.fs_realpath(name), file_stamp.of_path(name)
  local is_own = match == name or (path ~= nil and uv.fs_realpath(match) == path)
  if not is_own or not now or not stamps[bufnr] then return end
  local known = save.in_conflict(bufnr)
  if now ~= stamps[bufnr] or fresh[bufnr] then request_check(bufnr) end
  if not checking[path] then return save.is_unmerged(bufnr) and 'unmerged' or nil end
  awaited = bufnr
  local is_checked = vim.wait(MAX_WAIT_MS, function() return not checking[path] end, 5)
  awaited = nil
  require('acp.buffers.save_notes').on_merged(bufnr)
  if save.in_conflict(bufnr) and not known then
    watch.unaware(bufnr)
    require('acp.base.notify').show('warn', 'changed_on_disk', vim.fs.basename(name))
  end
  if file_stamp.of_path(name) ~= stamps[bufnr] or save.is_unmerged(bufnr) then
    return is_checked and 'unmerged' or 'unknown'
  end
end

--- Return why not to write a file. Neovim would block on a path that is no longer a regular file. A
--- key that was typed before Neovim asks whether to overwrite the file must not be taken as the
--- answer.
---@param bufnr integer
---@param match string the path to write
---@return string|nil message
local function refusal(bufnr, match)
  local missing = merge_before_save(bufnr, match)
  local messages, name = require('acp.base.messages'), vim.fs.basename(match)
  local stat = uv.fs_stat(match)
  if match == api.nvim_buf_get_name(bufnr) and stat and stat.type ~= 'file' then
    return messages.not_a_file:format(name, stat.type)
  end
  local is_asking = missing and vim.v.cmdbang == 0
  if is_asking and (missing == 'unknown' or vim.fn.getchar(1) ~= 0) then
    return messages.not_overwritten:format(name)
  end
end

--- An autocommand that interrupts a refused write. An error would not stop the write, and in Lua an
--- interrupt becomes an error.
local REFUSE = "if v:lua.require'acp.buffers.disk_changes'"
  .. ".refuses(str2nr(expand('<abuf>')), expand('<amatch>')) | call interrupt() | endif"

--- Return whether to refuse the user's write. If so, show why, and process the keys that the user
--- has typed since.
---@param bufnr integer
---@param match string the path to write
---@return boolean
function M.refuses(bufnr, match)
  if watch.is_held(bufnr) then return false end -- an agent's write
  local message = refusal(bufnr, match)
  if not message then return false end
  local typed_keys = require('acp.buffers.typed_keys')
  local keys = typed_keys.take()
  vim.schedule(function() require('acp.base.notify').error(message) end)
  typed_keys.give_back(keys)
  return true
end

--- Return whether a write is in progress that has not opened its file yet.
local function is_writing() return vim.fn.expand('<stack>'):find('BufWritePre', 1, true) ~= nil end

--- Stop watching the user's writes, of one buffer or of all. Keep the autocommands during a write:
--- it must still reach `refuses`, although its own autocommands may wait for programs while the
--- host reports the end of a turn.
local function unwatch_writes(bufnr)
  if not is_writing() then api.nvim_clear_autocmds({ group = writes, buffer = bufnr }) end
end

--- Watch the user's writes of a buffer, after all autocommands that exist by now.
local function watch_writes(bufnr)
  unwatch_writes(bufnr)
  if #api.nvim_get_autocmds({ group = writes, buffer = bufnr }) > 0 then return end
  on_write('BufWritePre', REFUSE, { buffer = bufnr, nested = true })
end

--- Merge a change to a file into its buffer, which must be at `tick`. `stamp` is the signature of
--- the file that the host read, nil if it was deleted. `want` has `eol`, `empty`, `modified`
--- (whether unsaved edits remain) and `unmerged` (whether these lack an earlier change by the user,
--- so that Neovim still has to ask before it overwrites the file). Return
--- `{ outcome, why, snapshot? }` like `write` of `acp.buffers.live`.
function M.merge_change(bufnr, tick, hunks, want, stamp)
  if not api.nvim_buf_is_loaded(bufnr) or api.nvim_buf_get_changedtick(bufnr) ~= tick then
    return { 'moved' }
  end
  local now, is_fresh = file_stamp.of_buffer(bufnr)
  if now ~= (stamp ~= vim.NIL and stamp or nil) then return { 'moved' } end
  local user_busy = require('acp.buffers.user_busy')
  local why_not = awaited ~= bufnr and user_busy.why_in_transfer(bufnr)
    or user_busy.why_busy(bufnr, hunks)
  if why_not then return { 'busy', why_not } end
  watch.flush(bufnr)
  watch.hold(bufnr)
  local modifiable = vim.bo[bufnr].modifiable
  vim.bo[bufnr].modifiable = true -- an update from disk, as 'autoread' would make
  local keep = require('acp.buffers.user_marks').keep
  local ok, err = keep(bufnr, buffers.edit, bufnr, hunks, want)
  vim.bo[bufnr].modifiable = modifiable
  if ok then
    buffers.close_undo_block(bufnr)
    local is_unmerged = want.modified and (want.unmerged or save.is_unmerged(bufnr))
    if not is_unmerged then save.accept_merge(bufnr, want.modified) end
    -- Not the current stamp: the file may have changed again.
    if stamps[bufnr] and not is_unmerged then
      stamps[bufnr], fresh[bufnr], assumed[bufnr] = now, is_fresh, nil
    end
  end
  watch.release(bufnr)
  if not ok then return { save.is_locked(err) and 'busy' or 'failed', save.reason(err) } end
  return { 'done', '', buffers.snapshot(bufnr) }
end

--- Record that a buffer's unsaved edits do not include a change that the user made to the file.
---@param path string real path
function M.mark_unmerged(path)
  local bufnr = require('acp.buffers.loaded').buffer(path)
  if bufnr and vim.bo[bufnr].modified then save.mark_unmerged(bufnr) end
end

--- Mark a conflict between a changed file and its buffer's unsaved edits. Neither text is changed.
---@param is_unmerged boolean see `merge_change`
function M.mark_conflict(bufnr, is_unmerged)
  if api.nvim_buf_is_loaded(bufnr) then
    save.mark_conflict(bufnr, is_unmerged)
    if not is_unmerged and not save.is_unmerged(bufnr) then update_stamp(bufnr) end
  end
end

--- Empty the buffer of a deleted file in one undo step, and delete the buffer unless a window shows
--- it. Do nothing if the buffer is no longer at `tick`, because the user has changed it since, or
--- if it was renamed.
---@param real string path of the file as the host resolved it
function M.vacate(bufnr, tick, real)
  if not api.nvim_buf_is_loaded(bufnr) then return end
  if nofollow.why_name_moved(bufnr, real) then return end
  if api.nvim_buf_get_changedtick(bufnr) ~= tick then return end
  watch.flush(bufnr)
  watch.hold(bufnr)
  buffers.edit(bufnr, {}, { eol = true, empty = true })
  save.accept_merge(bufnr, false)
  assumed[bufnr] = true
  watch.release(bufnr)
  if #vim.fn.win_findbuf(bufnr) == 0 then api.nvim_buf_delete(bufnr, { force = true }) end
end

--- Set the file format options of a buffer without marking it as modified.
---@param layout { fileencoding: string, bomb: boolean, fileformat: string }
function M.set_format(bufnr, layout)
  local options = vim.bo[bufnr]
  local modified, modifiable = options.modified, options.modifiable
  options.modifiable = true
  -- Neovim makes a buffer read-only if its file has bytes that are not in the encoding.
  local is_misread = options.readonly and options.fileencoding ~= layout.fileencoding
  for name, value in pairs(layout) do
    options[name] = value
  end
  if is_misread and vim.fn.filewritable(api.nvim_buf_get_name(bufnr)) == 1 then
    options.readonly = false
  end
  options.modifiable, options.modified = modifiable, modified
end

--- Start to handle disk changes and writes in the directories of the turn that `before_prompt`
--- announced, and register the autocommands for silent saves after all of the user's. Call this
--- once the prompt is on its way, because it takes time. Do nothing if no turn was announced.
---@param args { number?: integer } from `before_prompt`
function M.after_prompt(args)
  if not args.number then return end
  watch.after_prompt()
  M.quiet(true)
end

--- Return the text of all loaded files with unsaved edits, each as `{ path, lines, eol }`.
---@param max_bytes? integer return nil if there are more
function M.unsaved(max_bytes)
  local texts, bytes = {}, 0
  for _, bufnr in ipairs(api.nvim_list_bufs()) do
    local name = api.nvim_buf_is_loaded(bufnr) and api.nvim_buf_get_name(bufnr) or ''
    if name ~= '' and vim.bo[bufnr].buftype == '' and vim.bo[bufnr].modified then
      bytes = bytes + math.max(api.nvim_buf_get_offset(bufnr, api.nvim_buf_line_count(bufnr)), 0)
      if max_bytes and bytes > max_bytes then return nil end
      texts[#texts + 1] = {
        path = uv.fs_realpath(name) or require('acp.base.paths').absolute(name),
        lines = api.nvim_buf_get_lines(bufnr, 0, -1, false),
        eol = text.ends_with_newline(bufnr),
      }
    end
  end
  return texts
end

--- Save the buffers of these files as `:write` would, except those for which it would prompt.
---@param paths string[] real paths
---@return table<string, string> problems by path of files that could not be saved
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

--- Handle |FileChangedShell| while a turn runs. Let Neovim reload a clean buffer. If it has unsaved
--- edits or the user is busy in it, do not reload it but ask the host to merge the file. Until
--- then, unsaved edits count as a conflict. Never read a path that is not a regular file or leads
--- elsewhere: opening a pipe would block.
local function on_file_changed(args, real)
  if save.probing then return end
  local is_clean = not vim.bo[args.buf].modified
  local in_use = require('acp.buffers.user_busy').why_not_reload(args.buf)
  local stat = uv.fs_stat(api.nvim_buf_get_name(args.buf))
  local is_file = stat ~= nil and stat.type == 'file' and not nofollow.why_moved(args.buf, real)
  local is_readable = is_clean and not in_use and is_file and vim.v.fcs_reason ~= 'deleted'
  vim.v.fcs_choice = is_readable and 'reload' or ''
  if not is_clean then save.mark_conflict(args.buf, true) end
  if in_use or not is_clean then request_check(args.buf) end
end

--- If a turn runs in the directory of a buffer's file, record the file's stamp and watch the file
--- for changes on disk and the buffer for writes. If the buffer was read again and the stamp
--- differs, ask the host to check the file.
---@param read? boolean it was just read from its file
local function handle_buffer(bufnr, read)
  local name = api.nvim_buf_get_name(bufnr)
  local real = uv.fs_realpath(name)
  if vim.bo[bufnr].buftype ~= '' or name == '' or not watch.at_work(real) then return end
  real = watch.path(bufnr) or real
  api.nvim_clear_autocmds({ group = changes, buffer = bufnr })
  local known = stamps[bufnr]
  record_stamp(bufnr)
  if read and not known then fresh[bufnr] = nil end -- users are slower than a tick
  if read and known and known ~= stamps[bufnr] then request_check(bufnr, true) end
  watch_writes(bufnr)
  on_change('FileChangedShell', function(args) on_file_changed(args, real) end, { buffer = bufnr })
  on_change('FileChangedShellPost', function()
    if not save.probing and not vim.bo[bufnr].modified then
      record_stamp(bufnr)
      request_check(bufnr, true)
    end
  end, { buffer = bufnr })
end

require('acp.buffers.silent_saves').listen(function(bufnr)
  update_stamp(bufnr)
  require('acp.buffers.save_notes').note(uv.fs_realpath(api.nvim_buf_get_name(bufnr)))
end)

--- Check files whose stamp still differs at the end of turns, when all changes have been merged.
--- Such a file may have the same text, and then Neovim must not warn when the user saves.
local function check_remaining()
  for bufnr, known in pairs(stamps) do
    local in_sync = api.nvim_buf_is_loaded(bufnr) and not save.in_conflict(bufnr)
    local now = in_sync and file_stamp.of_buffer(bufnr)
    if now and now ~= known and unmerged[bufnr] ~= known then request_check(bufnr) end
  end
end

--- Set the directories in which turns run. Saves there are reported to the host, and Neovim does
--- not prompt about files there that change on disk.
---@param roots string[]
---@param acknowledged? integer see `acp.buffers.watch`
function M.set_turns(roots, acknowledged) M.quiet(watch.set_turns(roots, acknowledged)) end

M.set_session_roots = watch.set_session_roots

--- Return file information for a prompt, so that the host need not request it before it sends the
--- prompt: all unsaved text up to `MAX_BYTES`, and the number of the turn that session `n` expects.
--- Call `after_prompt` with the result next.
---@param n? integer nil for a new session, whose directories are not known yet
---@return { unsaved?: table[], session?: integer, number?: integer } args of the verb `prompt`
function M.before_prompt(n)
  local number = n and watch.expect(n)
  return { session = number and n, number = number, unsaved = M.unsaved(MAX_BYTES) }
end

--- Handle disk changes in the directories where turns run, so that Neovim does not prompt about
--- them. If not `active`, stop that and ask the host to check files whose stamp still differs.
---@param active boolean
function M.quiet(active)
  api.nvim_clear_autocmds({ group = changes })
  unwatch_writes()
  require('acp.buffers.autoread').release()
  if not active then
    check_remaining()
    stamps, fresh, assumed = {}, {}, {}
    return
  end
  local known, known_fresh, known_assumed = stamps, fresh, assumed
  stamps, fresh, assumed = {}, {}, {}
  for _, bufnr in ipairs(api.nvim_list_bufs()) do
    if api.nvim_buf_is_loaded(bufnr) then
      handle_buffer(bufnr)
      if stamps[bufnr] and known[bufnr] then -- keep an older stamp
        stamps[bufnr], fresh[bufnr] = known[bufnr], known_fresh[bufnr]
        assumed[bufnr] = known_assumed[bufnr]
      else
        assumed[bufnr] = true
        if stamps[bufnr] then save.find_unmerged(bufnr) end
      end
    end
  end
  on_change({ 'BufReadPost', 'BufWritePost', 'BufFilePost' }, function(args)
    local has_failed = args.event == 'BufWritePost' and failed_writes.has_failed(args)
    if not has_failed then handle_buffer(args.buf, args.event == 'BufReadPost') end
  end)
  local function is_handled(bufnr) return stamps[bufnr] ~= nil end
  local function update_autoread() require('acp.buffers.autoread').update(is_handled) end
  on_change('ModeChanged', update_autoread)
  update_autoread()
end

return M
