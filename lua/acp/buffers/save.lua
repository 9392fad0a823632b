--- Buffers and their files: loading, bringing up to date, saving, each without a prompt of Neovim's
--- (W10, W11, W12, W13, E325, hit-enter) and without a modeline's options.
local M = {
  probing = false, -- what Neovim finds changed now it was asked for
}

local api, fn, uv = vim.api, vim.fn, vim.uv
local handlers, nofollow = require('acp.buffers.save_handlers'), require('acp.buffers.nofollow')
local file_stamp = require('acp.buffers.file_stamp')
local stamp, with = file_stamp.of, require('acp.base.options').with

local seen = {} ---@type table<integer, string> the file as it was when the clean buffer equalled it
local fresh = {} ---@type table<integer, boolean> whether `seen` may miss a change of the same tick
local conflicts = {} ---@type table<integer, string> why buffer and file are two different texts

local on, group = require('acp.base.autocmds').group('acp.save')

on('BufWipeout', function(args)
  seen[args.buf], fresh[args.buf], conflicts[args.buf] = nil, nil, nil
end)

--- The user has the last word.
local function saved(bufnr)
  if not vim.bo[bufnr].modified then conflicts[bufnr] = nil end
end

on('BufWritePost', function(args) saved(args.buf) end)
require('acp.buffers.silent_saves').listen(saved)

--- Neovim's own words of an error, on one line.
---@param err any
---@return string
function M.reason(err)
  local text = tostring(err):gsub('\n.*', ''):gsub('^.*Vim%b():', '')
  return (text:gsub('^[%a ]*[Ll]ua[%a ]*:.-:%d+: ', ''))
end

local function file_of(bufnr) return uv.fs_stat(api.nvim_buf_get_name(bufnr)) end

--- Remember the file that the clean buffer equals.
---@param stat table|nil of `fs_stat`, taken before the file was read
---@param is_fresh? boolean as of that moment
local function see(bufnr, stat, is_fresh)
  seen[bufnr] = stat and stamp(stat) or nil
  fresh[bufnr] = is_fresh or nil
end

--- Whether the clean buffer still equals its file. The texts are compared while the stamp proves
--- nothing.
---@param stat table|nil of `fs_stat`
local function is_seen(bufnr, stat)
  if (stat and stamp(stat) or nil) ~= seen[bufnr] then return false end
  if not stat or not fresh[bufnr] then return true end
  local is_fresh = file_stamp.is_fresh(stat)
  if not require('acp.buffers.text').is_of_file(bufnr) then return false end
  fresh[bufnr] = is_fresh or nil
  return true
end

--- Run an Ex command in the buffer. No message, no swap-file dialog, no modelines.
function M.run(bufnr, command)
  local quiet = { shortmess = vim.go.shortmess .. 'A', confirm = false }
  return with(vim.go, quiet, function()
    local ok, err = with(vim.bo[bufnr], { modeline = false }, function()
      api.nvim_buf_call(bufnr, function() vim.cmd(command) end)
    end)
    assert(ok, err)
  end)
end

--- The flags that `:file` shows of the buffer, in the user's language: whether it is older than its
--- file, and whether it was renamed to a file that it has not read.
local function origin(bufnr)
  local function ask() return api.nvim_exec2('file', { output = true }).output end
  local output = api.nvim_buf_call(bufnr, ask)
  local marks = output:sub(output:find('"', 2, true) or 1)
  local function is(mark) return marks:find(fn.gettext(mark), 1, true) ~= nil end
  return is('[New]'), is('[Not edited]')
end

--- Run `action` such that autocommands fire, also when it is called from within one of somebody's
--- that waits for something (a formatter's BufWritePre).
local function nested(action)
  local result
  local id = on('User', function() result = { action() } end, { pattern = 'nested', nested = true })
  api.nvim_exec_autocmds('User', { group = group, pattern = 'nested', modeline = false })
  api.nvim_del_autocmd(id)
  return unpack(result, 1, 2)
end

--- Whether Neovim finds the file changed under the buffer; `choice` is taken, its dialog not shown.
local function probe(bufnr, choice)
  local found = false
  M.probing = true
  local id = require('acp.base.autocmds').in_buffer(bufnr, 'FileChangedShell', function()
    found = true
    vim.v.fcs_choice = choice
  end)
  local function check() return M.run(bufnr, 'silent checktime ' .. bufnr) end
  local needed = { user = true, filechangedshell = true }
  local heard = { eventignore = require('acp.base.options').ignored_but(needed) }
  local called, ok, err = with(vim.go, heard, nested, check)
  assert(called, ok)
  M.probing = false
  pcall(api.nvim_del_autocmd, id)
  return found, ok, err
end

--- Reload a clean buffer. One whose file was created after it would ask (W13): it is edited anew.
local function reload(bufnr, now, is_fresh)
  local tick = api.nvim_buf_get_changedtick(bufnr)
  local new, renamed = origin(bufnr)
  if new then
    M.run(bufnr, 'silent keepalt keepjumps edit!')
  elseif renamed then
    conflicts[bufnr] = 'the buffer was renamed to a file that it has not read'
  else
    local old = seen[bufnr]
    probe(bufnr, 'reload')
    if api.nvim_buf_get_changedtick(bufnr) ~= tick then return end
    local untold = old and old:match('^%d+%.%d+') == now:match('^%d+%.%d+')
    if untold or is_fresh and not require('acp.buffers.text').is_of_file(bufnr) then
      M.run(bufnr, 'silent keepalt keepjumps edit!') -- changed twice within the clock's grain
    end
  end
end

--- Reload it, and look once more: what was read from elsewhere is taken out of the buffer again,
--- and of its undo history.
---@return string|nil moved why it has been read from elsewhere
local function reload_inside(bufnr, now, is_fresh, real)
  local lines = api.nvim_buf_get_lines(bufnr, 0, -1, true)
  local tick = api.nvim_buf_get_changedtick(bufnr)
  local ok, err = pcall(reload, bufnr, now, is_fresh)
  local moved = nofollow.moved(bufnr, real)
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

--- Bring a clean buffer up to date with its file. One with unsaved edits is never touched.
---@return boolean stale it may be: Neovim reloads nothing in the command-line window or textlock,
---  and we nothing that is no file, or that the user is at work in
---@return 'gone'|'new'|nil absent it is clean, and there is no file: any more, or not yet
---@return string|nil moved why its name leads elsewhere since it was looked at last
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
    return true -- there is no text that the buffer could have
  end
  if is_seen(bufnr, stat) then return false, absent end
  local now = stat and stamp(stat) or nil
  local is_fresh = stat ~= nil and file_stamp.is_fresh(stat)
  if now and require('acp.buffers.user_busy').holds_lines(bufnr) then return true end
  conflicts[bufnr] = nil
  if now then
    local ok, result = pcall(reload_inside, bufnr, now, is_fresh, nofollow.real(bufnr))
    if not ok and M.is_locked(result) then return true end
    if ok and result then return true, nil, result end
  end
  see(bufnr, stat, is_fresh)
  return false, absent
end

--- Neovim takes the buffer for read from its file as that is now, and asks nothing about it (W11,
--- W12, W13, E13): so it does after a write by a BufWriteCmd, be it one that writes nothing. And
--- whoever undoes from here on comes to a text that the file has not: it is modified.
---@param modified boolean whether the present text holds unsaved edits
local function touch(bufnr, modified)
  vim.bo[bufnr].modified = true -- else 'autoread' reads it again
  if handlers.any(bufnr, 'BufWriteCmd') then
    probe(bufnr, '')
    vim.bo[bufnr].modified = modified
    return
  end
  local id = on('BufWriteCmd', function() vim.bo[bufnr].modified = false end, { buffer = bufnr })
  local function write() return M.run(bufnr, 'silent keepalt lockmarks write!') end
  local ok = with(vim.go, { eventignore = '' }, nested, write)
  api.nvim_del_autocmd(id)
  if not ok then -- 'nowrite'
    probe(bufnr, '')
  end
  vim.bo[bufnr].modified = modified
end

--- The file is another one, of the same text.
function M.same(bufnr) touch(bufnr, vim.bo[bufnr].modified) end

--- The buffer has taken over what changed in its file: Neovim is not to ask about it any more.
---@param modified boolean whether it holds unsaved edits
function M.adopt(bufnr, modified)
  touch(bufnr, modified)
  conflicts[bufnr] = nil
  local stat = not modified and file_of(bufnr) or nil
  see(bufnr, stat, stat ~= nil and file_stamp.is_fresh(stat))
end

--- The file changed under unsaved edits: nothing is saved over it but by the user.
---@param found? boolean Neovim is finding it changed just now
function M.mark_conflict(bufnr, found)
  if not found then touch(bufnr, vim.bo[bufnr].modified) end
  conflicts[bufnr] = 'the file changed on disk while its buffer has unsaved changes'
end

--- Whether buffer and file are two different texts.
function M.in_conflict(bufnr) return conflicts[bufnr] ~= nil end

--- Whether an error says that Neovim allows no such thing right now, but will again.
---@param err any
function M.is_locked(err)
  local text = tostring(err)
  return (text:find('E565') or text:find('E523') or text:find('E11:')) ~= nil
end

--- Format of a file that an agent creates, whatever the user's own files have. Autocommands may
--- choose another one, as that of `.editorconfig` does.
local PLAIN = { fileformats = 'unix', fileencoding = 'utf-8', bomb = false }

--- Load a file, by its resolved path, into a buffer nobody sees. A swap file of somebody else's is
--- no question. `fileencodings` is what to decode it by, nil for the user's.
function M.load(name, fileencodings)
  local quiet = {
    shortmess = vim.go.shortmess .. 'A',
    modeline = false,
    fileencodings = fileencodings or vim.go.fileencodings,
    binary = false, -- the text is decoded as that of a file that no buffer shows
  }
  local modeline = vim.go.modeline
  local stat = uv.fs_lstat(name)
  local is_fresh = stat ~= nil and file_stamp.is_fresh(stat)
  if not stat then quiet = vim.tbl_extend('error', quiet, PLAIN) end
  local moved = nofollow.why(name)
  if moved then error(moved, 0) end
  if stat and stat.type ~= 'file' then error('is not a regular file', 0) end -- a pipe is waited for
  local bufnr
  local ok, err = with(vim.go, quiet, function()
    bufnr = require('acp.buffers.loaded').add(name)
    vim.bo[bufnr].modeline = false
    vim.cmd('silent call bufload(' .. bufnr .. ')')
  end)
  if bufnr and api.nvim_buf_is_loaded(bufnr) then
    vim.bo[bufnr].modeline = modeline
    see(bufnr, stat and stat.type == 'file' and stat or nil, is_fresh)
  end
  -- If a file type plugin fails, the text has been read before that.
  assert(ok or bufnr and vim.bo[bufnr].filetype ~= '', err)
  moved = nofollow.why(name)
  assert(not moved, moved)
end

--- The nearest directory above a file that exists, as `fs_stat` gives it, and its path.
local function existing_parent(name)
  for parent in vim.fs.parents(name) do
    local stat = uv.fs_stat(parent)
    if stat then return stat, parent end
  end
end

---@param stat table|nil of `fs_stat`
---@return string|nil outcome why the file cannot be written
---@return string|nil why
function M.check_file(name, stat)
  if stat and stat.type == 'directory' then return 'directory', 'is a directory' end
  if stat and stat.type ~= 'file' then return 'failed', 'is not a regular file' end
  if stat then
    local writable = bit.band(stat.mode, 146) ~= 0 and uv.fs_access(name, 'W') -- 0222
    return not writable and 'readonly' or nil, 'the file is write-protected'
  end
  local parent, path = existing_parent(name)
  if parent and parent.type ~= 'directory' then
    return 'failed', ('%s is not a directory'):format(path)
  end
  if parent and not uv.fs_access(path, 'W') then
    return 'readonly', ('the directory %s is write-protected'):format(path)
  end
end

--- Only Neovim knows whether the file is still the one that a buffer with edits was read from.
local function check_dirty(bufnr)
  local new, renamed = origin(bufnr)
  if new or renamed or probe(bufnr, '') then
    conflicts[bufnr] = 'the file changed on disk while its buffer has unsaved changes'
  end
end

local function check_disk(bufnr, stat, synced)
  if vim.bo[bufnr].modified then
    if stat and not conflicts[bufnr] then
      local ok, err = pcall(check_dirty, bufnr)
      if not ok then return M.is_locked(err) and 'busy' or 'failed', M.reason(err) end
    end
  elseif not synced and not is_seen(bufnr, stat) then
    return 'moved'
  end
  if conflicts[bufnr] and stat then return 'conflict', conflicts[bufnr] end
end

--- Whether the buffer can be edited and, with `due`, saved: an outcome and why when it can't.
--- `synced`: the caller has compared it with the file.
function M.check(bufnr, due, synced)
  local options = vim.bo[bufnr]
  if options.buftype ~= '' then
    return 'failed', ("the buffer of this name has 'buftype' %s"):format(options.buftype)
  end
  if not options.modifiable then return 'readonly', "the buffer is not 'modifiable'" end
  if not due then return end
  local moved = nofollow.moved(bufnr, nofollow.real(bufnr))
  if moved then return 'failed', moved end
  local stat = file_of(bufnr)
  local outcome, why = M.check_file(api.nvim_buf_get_name(bufnr), stat)
  if outcome then return outcome, why end
  if options.readonly then return 'readonly', "the buffer is 'readonly'" end
  return check_disk(bufnr, stat, synced)
end

--- Whether a file could be written that no buffer has: nil, or why not.
function M.check_closed(name) return M.check_file(name, uv.fs_stat(name)) end

--- Read a file again that is another one, whatever its time says.
function M.reread(bufnr)
  local tick = api.nvim_buf_get_changedtick(bufnr)
  probe(bufnr, 'reload')
  if api.nvim_buf_get_changedtick(bufnr) == tick then
    M.run(bufnr, 'silent keepalt keepjumps edit!')
  end
end

--- The buffer has been saved. Its file is asked about anew: the stamp may be of a later change.
function M.settled(bufnr)
  seen[bufnr], fresh[bufnr], conflicts[bufnr] = nil, nil, nil
end

return M
