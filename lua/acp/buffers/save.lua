--- Loading, reloading and checking of buffers for a save, without prompts (W10, W11, W12, W13,
--- E325, hit-enter) and without modelines.
local M = {
  probing = false, -- whether a FileChangedShell event now comes from `probe`
}

local api, fn, uv = vim.api, vim.fn, vim.uv
local handlers, nofollow = require('acp.buffers.save_handlers'), require('acp.buffers.nofollow')
local file_stamp = require('acp.base.host.file_stamp')
local stamp, with = file_stamp.from_stat, require('acp.base.options').with
local ignored_but = require('acp.base.options').ignored_but

local read_stamps = {} ---@type table<integer, string> file stamp when the clean buffer equalled it
--- Layout of each file whose stamp may miss a change in the same clock tick.
local fresh = {} ---@type table<integer, acp.Layout>
local conflicts = {} ---@type table<integer, string> why buffer and file differ

--- Buffers whose unsaved text does not include a change that the user made to the file. Neovim asks
--- before it overwrites such a file, even after a restart of the host that found the change.
local lacking = {} ---@type table<integer, true>

local CHANGED_BOTH = 'the file changed on disk while its buffer has unsaved changes'

local on, group = require('acp.base.autocmds').group('acp.save')

on('BufWipeout', function(args)
  read_stamps[args.buf], fresh[args.buf], conflicts[args.buf] = nil, nil, nil
  lacking[args.buf] = nil
end)

--- Forget the conflict of a buffer, because the user has saved it.
local function on_saved(bufnr)
  if not vim.bo[bufnr].modified then
    conflicts[bufnr], lacking[bufnr] = nil, nil
  end
end

on('BufWritePost', function(args) on_saved(args.buf) end)
on('BufReadPost', function(args) lacking[args.buf] = nil end)
require('acp.buffers.silent_saves').listen(on_saved)

--- Return the message of an error without its location, on one line.
---@param err any
---@return string
function M.reason(err)
  local text = tostring(err):gsub('\n.*', ''):gsub('^.*Vim%b():', '')
  return (text:gsub('^[%a ]*[Ll]ua[%a ]*:.-:%d+: ', ''))
end

local function file_of(bufnr) return uv.fs_stat(api.nvim_buf_get_name(bufnr)) end

--- Record the stamp of the file that the clean buffer equals.
---@param stat table|nil of `fs_stat`, taken before the file was read
---@param is_fresh? boolean whether the stamp was too young at that time
local function record_stamp(bufnr, stat, is_fresh)
  read_stamps[bufnr] = stat and stamp(stat) or nil
  fresh[bufnr] = is_fresh and require('acp.buffers.text').layout(bufnr) or nil
end

--- Return whether the clean buffer still equals its file. The texts are compared if the stamp is
--- too young to be reliable.
---@param stat table|nil of `fs_stat`
local function is_current(bufnr, stat)
  if (stat and stamp(stat) or nil) ~= read_stamps[bufnr] then return false end
  if not stat or not fresh[bufnr] then return true end
  local is_fresh = file_stamp.is_fresh(stat)
  if not require('acp.buffers.text').is_of_file(bufnr, fresh[bufnr]) then return false end
  if not is_fresh then fresh[bufnr] = nil end
  return true
end

local depth = 0 -- of calls to `run_nested`

--- Run `action` so that it triggers autocommands even if it is called within another autocommand
--- that waits, such as a formatter's BufWritePre.
local function run_nested(action)
  local result
  depth = depth + 1
  local pattern = 'nested' .. depth
  local id = on('User', function() result = { action() } end, { pattern = pattern, nested = true })
  local events = { group = group, pattern = pattern, modeline = false }
  local ignored = vim.go.eventignore ~= '' and ignored_but({ user = true }) or nil
  local ok, err = with(vim.go, { eventignore = ignored }, api.nvim_exec_autocmds, 'User', events)
  api.nvim_del_autocmd(id)
  depth = depth - 1
  assert(ok, err)
  return unpack(result, 1, 2)
end

--- Run an Ex command in the buffer, without messages, swap-file dialog and modelines.
function M.run(bufnr, command)
  local quiet = { shortmess = vim.go.shortmess .. 'A', confirm = false }
  local function run()
    local ok, err = with(vim.bo[bufnr], { modeline = false }, function()
      api.nvim_buf_call(bufnr, function() vim.cmd(command) end)
    end)
    assert(ok, err)
  end
  return run_nested(function() return with(vim.go, quiet, run) end)
end

--- Parse the flags of `:file`, which are in the user's language. Return whether the buffer is older
--- than its file, and whether it was renamed to a file that it has not read.
local function origin(bufnr)
  local function ask() return api.nvim_exec2('file', { output = true }).output end
  local output = api.nvim_buf_call(bufnr, ask)
  local marks = output:sub(output:find('"', 2, true) or 1)
  local function is(mark) return marks:find(fn.gettext(mark), 1, true) ~= nil end
  return is('[New]'), is('[Not edited]')
end

--- Return whether Neovim detects that the buffer's file changed. `choice` answers FileChangedShell,
--- so no dialog is shown.
local function probe(bufnr, choice)
  local has_changed = false
  M.probing = true
  local id = require('acp.base.autocmds').in_buffer(bufnr, 'FileChangedShell', function()
    has_changed = true
    vim.v.fcs_choice = choice
  end)
  local function check() return M.run(bufnr, 'silent checktime ' .. bufnr) end
  local needed = { user = true, filechangedshell = true }
  local values = { eventignore = ignored_but(needed) }
  local called, err = with(vim.go, values, check)
  assert(called, err)
  M.probing = false
  pcall(api.nvim_del_autocmd, id)
  return has_changed
end

--- Set the format of a clean buffer, in which Neovim reads the file the next time.
---@param layout acp.Layout
local function set_layout(bufnr, layout)
  for name, value in pairs(layout) do
    vim.bo[bufnr][name] = value
  end
  vim.bo[bufnr].modified = false
end

--- Reload a clean buffer. If its file was created after the buffer, `:edit` is used because
--- `:checktime` would prompt (W13).
local function reload(bufnr, now, is_fresh)
  local tick = api.nvim_buf_get_changedtick(bufnr)
  local new, renamed = origin(bufnr)
  if new then
    M.run(bufnr, 'silent keepalt keepjumps edit!')
  elseif renamed then
    conflicts[bufnr] = 'the buffer was renamed to a file that it has not read'
  else
    local old = read_stamps[bufnr]
    probe(bufnr, 'reload')
    if api.nvim_buf_get_changedtick(bufnr) ~= tick then return end
    local is_same_time = old and old:match('^%d+%.%d+') == now:match('^%d+%.%d+')
    local text = require('acp.buffers.text')
    if (is_same_time or is_fresh) and not text.is_of_file(bufnr) then
      local layout = text.layout(bufnr)
      M.run(bufnr, 'silent keepalt keepjumps edit!') -- changed twice within one clock tick
      if text.is_empty(bufnr) then set_layout(bufnr, layout) end -- perhaps only truncated
    end
  end
end

--- Reload a clean buffer and check its path again. If another file was read, remove its text from
--- the buffer and from the undo history.
---@return string|nil moved why another file was read
local function reload_inside(bufnr, now, is_fresh, real)
  local lines = api.nvim_buf_get_lines(bufnr, 0, -1, true)
  local tick = api.nvim_buf_get_changedtick(bufnr)
  local ok, err = pcall(reload, bufnr, now, is_fresh)
  local moved = nofollow.why_moved(bufnr, real)
  if moved and api.nvim_buf_get_changedtick(bufnr) ~= tick then
    api.nvim_buf_call(bufnr, function() vim.cmd('silent! undo!') end)
    if not vim.deep_equal(api.nvim_buf_get_lines(bufnr, 0, -1, true), lines) then
      api.nvim_buf_set_lines(bufnr, 0, -1, true, lines) -- it was longer than 'undoreload'
    end
    vim.bo[bufnr].modified = false
  end
  assert(ok, err)
  return moved
end

--- Update a clean buffer from its file. A buffer with unsaved edits is never touched.
---@return boolean stale the buffer may be out of date, because Neovim does not reload in the
---  command-line window or under textlock, the path is not a regular file, or the user is busy
---@return 'gone'|'new'|nil absent the file of a clean buffer was deleted, or does not exist yet
---@return string|nil moved why its name leads elsewhere since the last check
function M.refresh(bufnr)
  local of = { buf = bufnr }
  if
    api.nvim_get_option_value('modified', of) or api.nvim_get_option_value('buftype', of) ~= ''
  then
    return false
  end
  local stat = file_of(bufnr)
  local absent = not stat and (origin(bufnr) and 'new' or 'gone') or nil
  if stat and stat.type ~= 'file' then
    return true -- there is no text to read
  end
  if is_current(bufnr, stat) then return false, absent end
  local now = stat and stamp(stat) or nil
  local is_fresh = stat ~= nil and file_stamp.is_fresh(stat)
  local is_cut = is_fresh and stat.size == 0 and not require('acp.buffers.text').is_empty(bufnr)
  if is_cut then return true end -- a program that writes the file has only emptied it
  if now and require('acp.buffers.user_busy').why_not_reload(bufnr) then return true end
  conflicts[bufnr] = nil
  if now then
    local ok, result = pcall(reload_inside, bufnr, now, is_fresh, nofollow.real(bufnr))
    if not ok and M.is_locked(result) then return true end
    if ok and result then return true, nil, result end
  end
  record_stamp(bufnr, stat, is_fresh)
  return false, absent
end

--- Make Neovim treat the buffer as in sync with the current file, so that it does not prompt (W11,
--- W12, W13, E13). Neovim does so after a BufWriteCmd, even one that writes nothing. An undo to an
--- older text then marks the buffer as modified, because the file does not have that text.
---@param modified boolean whether the current text has unsaved edits
local function mark_in_sync(bufnr, modified)
  vim.bo[bufnr].modified = true -- else 'autoread' would reload it
  if handlers.any(bufnr, 'BufWriteCmd') then
    probe(bufnr, '')
    vim.bo[bufnr].modified = modified
    return
  end
  local id = on('BufWriteCmd', function() vim.bo[bufnr].modified = false end, { buffer = bufnr })
  local function write() return M.run(bufnr, 'silent keepalt lockmarks write!') end
  local _, is_written = with(vim.go, { eventignore = '' }, write)
  api.nvim_del_autocmd(id)
  if not is_written then -- 'nowrite'
    probe(bufnr, '')
  end
  vim.bo[bufnr].modified = modified
end

--- Make Neovim accept a file that was written again with the same text.
function M.accept_same_text(bufnr) mark_in_sync(bufnr, vim.bo[bufnr].modified) end

--- Accept a change to the file that was merged into the buffer. Neovim will not prompt about it.
---@param modified boolean whether the buffer has unsaved edits
function M.accept_merge(bufnr, modified)
  mark_in_sync(bufnr, modified)
  conflicts[bufnr], lacking[bufnr] = nil, nil
  local stat = not modified and file_of(bufnr) or nil
  record_stamp(bufnr, stat, stat ~= nil and file_stamp.is_fresh(stat))
end

--- Mark a conflict between a changed file and unsaved edits. Only the user may then overwrite the
--- file.
---@param is_asking? boolean whether Neovim asks before it overwrites the file
function M.mark_conflict(bufnr, is_asking)
  if not is_asking and not lacking[bufnr] then mark_in_sync(bufnr, vim.bo[bufnr].modified) end
  conflicts[bufnr] = CHANGED_BOTH
end

--- Record that the unsaved text of a buffer does not include a change that the user made to the
--- file.
function M.mark_unmerged(bufnr) lacking[bufnr] = true end

--- Record, before an agent can change the file, whether unsaved text lacks an earlier change to it.
function M.find_unmerged(bufnr)
  if not vim.bo[bufnr].modified or lacking[bufnr] then return end
  local ok, has_changed = pcall(probe, bufnr, '')
  if not ok or has_changed then lacking[bufnr] = true end
end

function M.is_unmerged(bufnr) return lacking[bufnr] ~= nil end

function M.in_conflict(bufnr) return conflicts[bufnr] ~= nil end

--- Return whether an error means that Neovim temporarily does not allow the operation.
---@param err any
function M.is_locked(err)
  local text = tostring(err)
  return (text:find('E565') or text:find('E523') or text:find('E11:')) ~= nil
end

--- Format of a file that an agent creates, regardless of the user's options. Autocommands may
--- change it, as the one for `.editorconfig` does.
local PLAIN = { fileformats = 'unix', fileencoding = 'utf-8', bomb = false }

--- Load a file, given by its resolved path, into a hidden buffer. An existing swap file causes no
--- prompt.
---@param fileencodings? string the user's by default
function M.load(name, fileencodings)
  local quiet = {
    shortmess = vim.go.shortmess .. 'A',
    modeline = false,
    fileencodings = fileencodings or vim.go.fileencodings,
    binary = false, -- decode the text as the host decodes a file without a buffer
  }
  local modeline = vim.go.modeline
  local stat = uv.fs_lstat(name)
  local is_fresh = stat ~= nil and file_stamp.is_fresh(stat)
  if not stat then quiet = vim.tbl_extend('error', quiet, PLAIN) end
  local moved = nofollow.why_elsewhere(name)
  if moved then error(moved, 0) end
  if stat and stat.type ~= 'file' then error('is not a regular file', 0) end -- a pipe would block
  local bufnr
  local ok, err = with(vim.go, quiet, function()
    bufnr = require('acp.buffers.loaded').add(name)
    moved = nofollow.why_directory_moved(bufnr)
    if moved then return end
    vim.bo[bufnr].modeline = false
    local load = 'silent call bufload(' .. bufnr .. ')'
    local loaded, why = run_nested(function() return pcall(vim.cmd, load) end)
    assert(loaded, why)
  end)
  if moved then error(moved, 0) end
  if bufnr and api.nvim_buf_is_loaded(bufnr) then
    vim.bo[bufnr].modeline = modeline
    record_stamp(bufnr, stat and stat.type == 'file' and stat or nil, is_fresh)
  end
  -- If a filetype plugin fails, the text was read before that.
  assert(ok or bufnr and vim.bo[bufnr].filetype ~= '', err)
  moved = nofollow.why_elsewhere(name)
  assert(not moved, moved)
end

--- Return the `fs_stat` and path of the nearest existing directory above a file.
function M.existing_parent(name)
  for parent in vim.fs.parents(name) do
    local stat = uv.fs_stat(parent)
    if stat then return stat, parent end
  end
end

--- Check whether a file can be written.
---@param stat table|nil of `fs_stat`
---@return string|nil outcome nil if it can
---@return string|nil why
function M.check_file(name, stat)
  if stat and stat.type == 'directory' then return 'directory', 'is a directory' end
  if stat and stat.type ~= 'file' then return 'failed', 'is not a regular file' end
  if stat then
    local writable = bit.band(stat.mode, 146) ~= 0 and uv.fs_access(name, 'W') -- 0222
    return not writable and 'readonly' or nil, 'the file is write-protected'
  end
  local parent, path = M.existing_parent(name)
  if parent and parent.type ~= 'directory' then
    return 'failed', ('%s is not a directory'):format(path)
  end
  if parent and not uv.fs_access(path, 'W') then
    return 'readonly', ('the directory %s is write-protected'):format(path)
  end
end

--- Detect a conflict for a modified buffer. Only Neovim knows which file it was read from.
local function check_dirty(bufnr)
  local new, renamed = origin(bufnr)
  if new or renamed or probe(bufnr, '') then conflicts[bufnr] = CHANGED_BOTH end
end

local function check_disk(bufnr, stat, synced)
  if vim.bo[bufnr].modified then
    if stat and not conflicts[bufnr] then
      local ok, err = pcall(check_dirty, bufnr)
      if not ok then return M.is_locked(err) and 'busy' or 'failed', M.reason(err) end
    end
  elseif not synced and not is_current(bufnr, stat) then
    return 'moved'
  end
  if conflicts[bufnr] and stat then return 'conflict', conflicts[bufnr] end
end

--- Check whether the buffer can be edited and, with `due`, saved. Return an outcome and a reason if
--- it cannot. `synced` means that the caller has compared it with the file.
function M.check(bufnr, due, synced)
  local options = vim.bo[bufnr]
  if options.buftype ~= '' then
    return 'failed', ("the buffer of this name has 'buftype' %s"):format(options.buftype)
  end
  if not options.modifiable then return 'readonly', "the buffer is not 'modifiable'" end
  if not due then return end
  local moved = nofollow.why_moved(bufnr, nofollow.real(bufnr))
  if moved then return 'failed', moved end
  local stat = file_of(bufnr)
  local outcome, why = M.check_file(api.nvim_buf_get_name(bufnr), stat)
  if outcome then return outcome, why end
  if options.readonly then return 'readonly', "the buffer is 'readonly'" end
  return check_disk(bufnr, stat, synced)
end

--- Check whether a file without a buffer can be written.
function M.check_closed(name) return M.check_file(name, uv.fs_stat(name)) end

--- Reload a file that has changed, even if its modification time has not.
function M.reload(bufnr)
  local tick = api.nvim_buf_get_changedtick(bufnr)
  probe(bufnr, 'reload')
  if api.nvim_buf_get_changedtick(bufnr) == tick then
    M.run(bufnr, 'silent keepalt keepjumps edit!')
  end
end

--- Forget the stamp and conflict of a buffer that was saved. The next check reads the stamp again,
--- because the current one may belong to a later change.
function M.forget_stamp_and_conflict(bufnr)
  read_stamps[bufnr], fresh[bufnr], conflicts[bufnr] = nil, nil, nil
  lacking[bufnr] = nil
end

return M
