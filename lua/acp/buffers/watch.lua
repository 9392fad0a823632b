--- Reports of the user's changes in buffers to the host, once per iteration of the event loop. Only
--- buffers that an agent read or wrote, or that have pending edits, are watched. Each verb `edited`
--- reports one region of lines. The host's own edits are not reported.
local M = {}

local api, uv = vim.api, vim.uv
local silent_saves = require('acp.buffers.silent_saves')
local failed_writes = require('acp.buffers.failed_writes')
local real_path = require('acp.base.places').real_path

---@class acp.WatchedBuffer
---@field path string real path of the file
---@field name string name of the buffer
---@field tick integer 'changedtick' up to which the host knows the text
---@field count integer lines at that tick
---@field change integer number of the text's change (`:undolist`)
---@field newest integer the highest such number so far
---@field first integer|nil first row that changed since that tick, nil if none has
---@field tail integer unchanged lines at the end
---@field returned? boolean changed at a number that was known, so perhaps undone, since that tick
---@field reloaded? boolean reloaded from its file, or such a reload undone, since that tick
---@field reread? boolean reloaded from its file since that tick
---@field unread? boolean the host knows of the reload but has not read the text yet
---@field held? boolean the host is editing the buffer
---@field detached? boolean Neovim has detached it during that edit, by `:edit` in an autocommand

local watched = {} ---@type table<integer, acp.WatchedBuffer>
local changed = {} ---@type table<integer, true> buffers with changes that were not reported yet
local pending = {} ---@type table<string, true> files with pending edits
local roots = {} ---@type string[] directories in which turns run or are about to run
local running = {} ---@type string[] directories in which turns run according to the host
local session_roots = {} ---@type table<integer, string[]> of sessions that have had a turn
local expected = {} ---@type integer[][] prompts on their way: prompt number, session number
local prompts = 0
local unaware = {} ---@type table<integer, true> buffers whose save does not resolve a conflict

local function send(verb, args)
  local host = require('acp.base.host')
  if host.is_running() then host.notify(verb, args) end
end

--- Return whether a turn is running in a directory that contains the file.
---@param path string|nil
function M.at_work(path) return path ~= nil and require('acp.base.paths').is_below(path, roots) end

--- Return the nearest ancestor of a change whose number is at most `newest`, 0 for the first text.
---@param entries table[] of `undotree()`
---@param known? integer such an ancestor of the first entry
local function known_ancestor(entries, change, newest, known)
  for _, entry in ipairs(entries) do
    if entry.seq == change then return known or 0 end
    local found = entry.alt and known_ancestor(entry.alt, change, newest, known)
    if found then return found end
    if entry.seq <= newest then known = entry.seq end
  end
end

--- Return whether an undo or redo is among the changes since the last report.
---@param last integer the number at the last report
---@param newest integer the highest number at the last report
local function has_undone(watch, bufnr, last, newest)
  -- A long file loses its undo history with a reload ('undoreload').
  if watch.reread and (watch.change > newest or watch.change == 0) then return false end
  if watch.change <= newest then return watch.change ~= last end
  if not watch.returned then return false end
  local entries = vim.fn.undotree(bufnr).entries
  return known_ancestor(entries, watch.change, newest) ~= last
end

--- Record that the host knows the current text.
local function mark_known(watch, bufnr)
  watch.tick = api.nvim_buf_get_changedtick(bufnr)
  watch.change = require('acp.buffers.text').change_of(bufnr)
  watch.newest = math.max(watch.newest, watch.change)
  watch.count = api.nvim_buf_line_count(bufnr)
  watch.first, watch.returned, watch.reloaded, watch.reread = nil, nil, nil, nil
end

--- Return whether the user has given the buffer the name of another file (`:saveas`, `:file`).
local function has_other_file(bufnr, watch)
  return api.nvim_buf_get_name(bufnr) ~= watch.name and real_path(bufnr) ~= watch.path
end

--- Stop watching a buffer, and report that its file no longer has one.
local function report_unload(bufnr, watch)
  watched[bufnr] = nil
  -- In Neovim 0.10 the text may be freed by now, and `vim.bo` fails because it enters the buffer.
  local modified = vim.fn.getbufinfo(bufnr)[1].changed == 1 or nil
  local args = { path = watch.path, bufnr = bufnr, is_unload = true, was_modified = modified }
  send('edited', args)
end

--- Report the changes in a buffer since the last report: a region of lines, or that it was
--- reloaded. If the buffer now has another file, report that the old file no longer has a buffer.
---@param asked? boolean whether the host has asked for the buffer, and so gets its tick anyway
function M.flush(bufnr, asked)
  local watch = watched[bufnr]
  changed[bufnr] = nil
  if not watch or watch.held or not api.nvim_buf_is_loaded(bufnr) then return end
  if has_other_file(bufnr, watch) then return report_unload(bufnr, watch) end
  if not (asked or watch.first or watch.reloaded) then
    return -- the next report must be based on a tick that the host knows
  end
  local args = { path = watch.path, bufnr = bufnr, tick_before = watch.tick }
  if watch.reloaded then
    args.is_reload = true
  elseif watch.first then
    local last = api.nvim_buf_line_count(bufnr) - watch.tail
    args.first, args.last = watch.first, watch.count - watch.tail
    args.lines = api.nvim_buf_get_lines(bufnr, watch.first, last, false)
    args.eol = require('acp.buffers.text').ends_with_newline(bufnr)
    args.is_modified = vim.bo[bufnr].modified
  end
  watch.unread = not asked and (watch.unread or args.is_reload) or nil
  local newest, last = watch.newest, watch.change
  watch.change = require('acp.buffers.text').change_of(bufnr)
  args.is_undo = has_undone(watch, bufnr, last, newest) or nil
  mark_known(watch, bufnr)
  args.tick = watch.tick
  if args.lines or args.is_reload then send('edited', args) end
end

--- Report all changes before the user's next action is sent, so that the agent does not act on an
--- older text.
function M.flush_all()
  for bufnr in pairs(changed) do
    M.flush(bufnr)
  end
end

--- Report a change to a watched buffer that no region describes. The host reads the buffer before
--- it uses its text again.
local function report_unknown_change(bufnr)
  local watch = watched[bufnr]
  if watch and not watch.held then send('doubted', { path = watch.path }) end
end

--- Return whether a change may be an undo or redo, which happens only in the current buffer. A new
--- change has a new number by now; an undo or redo gets its number later.
local function is_known(watch, bufnr)
  return bufnr == api.nvim_get_current_buf() and vim.fn.changenr() <= watch.newest
end

local function on_lines(watch, bufnr, first, last)
  if watch.held then return end
  -- The single line of an emptied buffer is new: `:%delete` reports that no old line is left.
  local count = api.nvim_buf_line_count(bufnr)
  local tail = count == 1 and 0 or count - last
  watch.returned = watch.returned or is_known(watch, bufnr)
  if not watch.first then
    watch.first, watch.tail = first, tail
    changed[bufnr] = true
    vim.schedule(function() M.flush(bufnr) end)
    return
  end
  watch.first, watch.tail = math.min(watch.first, first), math.min(watch.tail, tail)
end

local function on_reload(watch, bufnr)
  if watch.held then return end
  local is_undo = watch.returned and is_known(watch, bufnr)
  watch.reread = watch.reread or not is_undo
  if not watch.reloaded then
    watch.reloaded = true
    changed[bufnr] = true
    vim.schedule(function() M.flush(bufnr) end)
  end
end

--- Start watching a buffer whose current text the host knows.
---@param path string real path of its file
function M.attach(bufnr, path)
  local old = watched[bufnr]
  if old and not old.held and has_other_file(bufnr, old) then report_unload(bufnr, old) end
  if watched[bufnr] then return end
  local newest = api.nvim_eval(('undotree(%d).seq_last'):format(bufnr))
  local name = api.nvim_buf_get_name(bufnr)
  local watch = { path = path, name = name, tail = 0, newest = newest } ---@type acp.WatchedBuffer
  mark_known(watch, bufnr)
  local attached = api.nvim_buf_attach(bufnr, false, {
    on_lines = function(_, _, _, first, _, last)
      if watched[bufnr] ~= watch then return true end
      on_lines(watch, bufnr, first, last)
    end,
    on_reload = function() on_reload(watch, bufnr) end,
    on_detach = function()
      if watched[bufnr] == watch and watch.held then
        watch.detached = true
      elseif watched[bufnr] == watch then
        M.flush(bufnr)
        if watched[bufnr] then report_unload(bufnr, watch) end
      end
    end,
  })
  watched[bufnr] = attached and watch or nil
end

--- Return whether the host is editing the buffer.
function M.is_held(bufnr) return watched[bufnr] ~= nil and watched[bufnr].held == true end

--- Mark that the save in progress does not resolve the conflict with the file on disk.
function M.unaware(bufnr) unaware[bufnr] = true end

--- Return the real path of a watched buffer's file.
---@return string|nil
function M.path(bufnr) return watched[bufnr] and watched[bufnr].path end

--- Begin an edit by the host. Changes until `release` are not the user's and are not reported.
function M.hold(bufnr)
  local watch = watched[bufnr]
  if watch then watch.held = true end
end

--- End an edit by the host. Record that the host knows the current text. If Neovim has detached the
--- buffer during the edit, watch it again, or report it as unloaded.
function M.release(bufnr)
  local watch = watched[bufnr]
  if not watch then return end
  watch.held = nil
  local loaded = api.nvim_buf_is_loaded(bufnr)
  if watch.detached then
    watched[bufnr] = nil
    if loaded then
      M.attach(bufnr, watch.path)
    else
      send('edited', { path = watch.path, bufnr = bufnr, is_unload = true })
    end
  end
  if loaded then
    mark_known(watch, bufnr)
    silent_saves.note(bufnr)
  end
end

local send_refresh = require('acp.base.schedule_once')(function() send('refresh') end)

--- Ask the host to check files with pending edits, which another program may have changed.
local function request_refresh()
  if next(pending) then send_refresh() end
end

--- Return whether the file ends with a newline after a save of the buffer.
local function has_eol_after_save(bufnr)
  local options = vim.bo[bufnr]
  local fixed = options.fixendofline and not options.binary
  return require('acp.buffers.text').ends_with_newline(bufnr)
    or (fixed and not require('acp.buffers.text').is_empty(bufnr))
end

--- Return whether the bytes on disk do not determine the saved text, because of an unknown
--- encoding, `++enc` or a formatter that ran on the file.
local function is_coded(bufnr)
  local handlers = require('acp.buffers.save_handlers')
  return vim.v.cmdarg ~= '' or not handlers.is_plain(bufnr) or handlers.rewrote(bufnr)
end

--- Report the save of a file that the host need not merge: no turn runs there (`idle`), or it is
--- not the buffer's own file.
local function report_saved(path, coded, idle)
  local stamp = require('acp.base.host.file_stamp').of_path(path)
  send('saved', { path = path, stamp = stamp, coded = coded, idle = idle })
end

--- Report that text of a buffer was written to another file, or with other characters.
local function report_other_file(path) report_saved(path, true, not M.at_work(path) or nil) end

--- Set 'endofline' if the save added a final newline ('fixendofline'), as `:edit` would. Otherwise
--- agents would not see the newline and drop it with their next write.
local function end_with_file(bufnr, ended)
  local options = vim.bo[bufnr]
  if ended and not options.endofline then
    local modified = options.modified
    options.endofline, options.modified = true, modified
  end
end

---@param args { buf: integer, match: string, event?: string, silent?: boolean }
local function on_saved(args)
  local watch = watched[args.buf]
  if watch and watch.held then
    -- The last scan of a turn finds changes by programs that a save for its agent has run.
    if not M.at_work(watch.path) then request_refresh() end
    return
  end
  if not args.silent and failed_writes.has_failed(args) then return end
  local path = watch and watch.path or real_path(args.buf)
  local is_own = uv.fs_realpath(args.match) == path
  local is_exact = is_own and require('acp.buffers.save_handlers').is_encodable(args.buf)
  local other = not is_exact and uv.fs_realpath(args.match)
  if other then
    report_other_file(other)
  elseif is_own and (watch or M.at_work(path)) then
    M.flush(args.buf)
    local saved = { path = path, bufnr = args.buf, eol = has_eol_after_save(args.buf) }
    local options = vim.bo[args.buf]
    saved.layout = { options.fileencoding, options.bomb, options.fileformat }
    saved.coded = is_coded(args.buf) or nil
    local automatic = args.silent or require('acp.buffers.automatic_saves').is_automatic()
    saved.unaware = unaware[args.buf] or automatic
    unaware[args.buf] = nil
    saved.stamp = require('acp.base.host.file_stamp').of_path(path)
    end_with_file(args.buf, saved.eol)
    if not watch or watch.unread then
      saved.lines = api.nvim_buf_get_lines(args.buf, 0, -1, false)
    end
    send('saved', saved)
  elseif is_own and path then
    report_saved(path, is_coded(args.buf) or nil, true)
    end_with_file(args.buf, has_eol_after_save(args.buf))
  end
  request_refresh()
end

local function on_read(args)
  local path = real_path(args.buf)
  if path and pending[path] then send('opened', { path = path, bufnr = args.buf }) end
end

local on = require('acp.base.autocmds').group('acp.watch')
on('BufWritePost', on_saved)
silent_saves.listen(
  function(bufnr) on_saved({ buf = bufnr, match = api.nvim_buf_get_name(bufnr), silent = true }) end
)
on({ 'FileWritePost', 'FileAppendPost' }, function(args)
  local path = uv.fs_realpath(args.match)
  if path and not failed_writes.has_failed(args) then report_other_file(path) end
end)
on('BufReadPost', on_read)
on('BufFilePost', function(args) M.flush(args.buf) end)
-- The event has no buffer number, but the buffer with the option is current.
on('OptionSet', function() report_unknown_change(api.nvim_get_current_buf()) end, {
  pattern = { 'binary', 'bomb', 'buftype', 'endofline', 'fileencoding', 'fileformat', 'modified' },
})
on({ 'BufReadPost', 'BufNewFile', 'BufFilePost' }, function(args)
  -- The file may belong to another buffer now.
  local path = real_path(args.buf)
  for bufnr, watch in pairs(watched) do
    if bufnr == args.buf or watch.path == path then report_unknown_change(bufnr) end
  end
end)
on({ 'FocusGained', 'ShellCmdPost', 'TermLeave' }, request_refresh)

--- Set the files that have pending edits.
function M.set_pending(paths)
  pending = {}
  for _, path in ipairs(paths) do
    pending[path] = true
  end
end

local function update_roots()
  roots = vim.list_slice(running)
  for _, prompt in ipairs(expected) do
    vim.list_extend(roots, session_roots[prompt[2]])
  end
end

--- Set the directories in which turns run. Saves of files there are reported.
---@param list string[]
---@param acknowledged? integer number of the last prompt that `list` takes into account
---@return boolean any
function M.set_turns(list, acknowledged)
  running = list
  expected = vim.tbl_filter(function(change) return change[1] > (acknowledged or 0) end, expected)
  update_roots()
  silent_saves.come_last()
  return #roots > 0
end

--- Set the directories of a session, in which its next turn will run.
---@param n integer
---@param list string[]
function M.set_session_roots(n, list) session_roots[n] = list end

--- Expect a turn of session `n`, whose prompt is about to be sent. All earlier saves are reported
--- now and all later ones will be, so the host need not ask. Call `after_prompt` after the prompt.
---@param n integer
---@return integer|nil number of the prompt, nil if the host must ask
function M.expect(n)
  if not session_roots[n] then return nil end
  prompts = prompts + 1
  expected[#expected + 1] = { prompts, n }
  update_roots()
  silent_saves.check_buffers()
  return prompts
end

--- Register the autocommands for silent saves after all of the user's. Call this once the prompt is
--- on its way, because it takes time.
function M.after_prompt() silent_saves.come_last() end

--- Forget all watched buffers and turns after the host has exited.
function M.on_host_exit()
  watched, unaware, changed = {}, {}, {}
  session_roots, expected = {}, {}
  M.set_turns({})
end

return M
