--- A write of a buffer to its file, with the user's autocommands. Any of them may fail, change the
--- text, undo it, read the file again or unload the buffer.
local M = {}

local api, fn, uv = vim.api, vim.fn, vim.uv
local handlers, nofollow = require('acp.buffers.save_handlers'), require('acp.buffers.nofollow')
local save, backup_copy = require('acp.buffers.save'), require('acp.buffers.backup_copy')
local file_stamp = require('acp.base.host.file_stamp')
local text = require('acp.buffers.text')
local saves_of = require('acp.buffers.silent_saves').count

local UNDONE = 'an autocommand has undone the change'

---@class acp.Writing a write in progress
---@field bufnr integer
---@field name string
---@field real string resolved path
---@field folder? string nearest existing directory above a new file before the write
---@field before? string the file's stamp before the write
---@field saves integer number of writes of the buffer before this one
---@field change integer number of the change to save
---@field edited boolean the text has changed during the write
---@field reread boolean the file was read again during the write
---@field begun boolean the final check of the path succeeded
---@field outcome? string outcome of the final check if it failed
---@field why? string
---@field text? table the saved text, as returned by `observe`

---@class acp.WriteResult
---@field done boolean
---@field outcome? string
---@field why? string
---@field edited? boolean autocommands changed the text
---@field stamp? string the file's stamp, if its bytes are known to be the buffer's text
---@field text? table the saved text, if the buffer no longer belongs to the file

---@class acp.WriteOptions
---@field autocmds boolean
---@field rights? { mode: integer, uid: integer, gid: integer } of a deleted file to create again
---@field observe? fun(edited: boolean): table

--- Return why the write must not happen now. Neovim opens anything at the path and blocks on a
--- pipe.
---@param writing acp.Writing
---@return string|nil outcome
---@return string|nil why
local function obstacle(writing)
  local bufnr = writing.bufnr
  local moved = nofollow.why_moved(bufnr, writing.real)
  if moved then return 'failed', moved end
  local stat = uv.fs_stat(writing.name)
  local outcome, why = save.check_file(writing.name, stat)
  if outcome then return outcome, why end
  local now = stat and file_stamp.from_stat(stat)
  if now ~= writing.before and saves_of(bufnr) == writing.saves then
    return 'moved', 'the file changed while it was saved'
  end
  if writing.reread or text.change_of(bufnr) < writing.change then return 'failed', UNDONE end
end

--- Return whether autocommands of a write include the `BufWritePre` of the final check.
local function triggers_pre()
  local ignored = vim.split(vim.o.eventignore:lower(), ',')
  local function is(event) return vim.tbl_contains(ignored, event) end
  return not is('bufwritepre') and (not is('all') or is('-bufwritepre'))
end

--- Check the path directly before Neovim opens it, and record the text to save.
---@param writing acp.Writing
---@param observe? fun(edited: boolean): table
local function final_check(writing, observe)
  writing.outcome, writing.why = obstacle(writing)
  if writing.outcome then error(writing.why, 0) end
  writing.begun = true
  writing.text = observe and observe(writing.edited)
end

--- Record changes and reloads of the buffer until the returned function is called.
---@param writing acp.Writing
---@return fun() stop_watching
local function watch(writing)
  local is_over = false
  local function reread()
    writing.edited, writing.reread = true, true
  end
  api.nvim_buf_attach(writing.bufnr, false, {
    on_lines = function()
      if is_over then return true end
      writing.edited = true
    end,
    on_reload = function() return is_over or reread() end,
    on_detach = function() return is_over or reread() end, -- by `:edit` in an autocommand
  })
  return function() is_over = true end
end

--- Create an empty file with the rights that it had before it was deleted.
---@param rights { mode: integer, uid: integer, gid: integer }
local function precreate(name, rights)
  fn.mkdir(vim.fs.dirname(name), 'p')
  local handle = uv.fs_open(name, 'wx', 384) -- 0600
  if handle then
    uv.fs_fchown(handle, rights.uid, rights.gid) -- root only
    uv.fs_fchmod(handle, rights.mode)
    uv.fs_close(handle)
  end
end

--- Write the buffer, with the final check after all other `BufWritePre` autocommands.
---@param writing acp.Writing
---@param options acp.WriteOptions
local function run(writing, options)
  local bufnr = writing.bufnr
  local fixeol, backup = vim.bo[bufnr].fixendofline, vim.go.writebackup
  if not vim.bo[bufnr].endofline or vim.bo[bufnr].endoffile then
    vim.bo[bufnr].fixendofline = false -- write exactly the text of the buffer
  end
  vim.go.writebackup = true -- else a full disk destroys the old file and leaves a partial one
  local prefix = options.autocmds and '' or 'noautocmd '
  local command = ('silent keepalt keepjumps lockmarks %swrite! ++p'):format(prefix)
  local stop_watching = watch(writing)
  local id = options.autocmds
    and require('acp.base.autocmds').in_buffer(bufnr, 'BufWritePre', function()
      final_check(writing, options.observe)
      writing.reread = false
    end)
  local ok, err = save.run(bufnr, command)
  stop_watching()
  if id then pcall(api.nvim_del_autocmd, id) end
  vim.go.writebackup = backup
  if api.nvim_buf_is_valid(bufnr) then vim.bo[bufnr].fixendofline = fixeol end
  return ok, err
end

--- Return whether the buffer no longer belongs to the file.
---@param writing acp.Writing
local function is_gone(writing)
  return not api.nvim_buf_is_loaded(writing.bufnr)
    or nofollow.why_name_moved(writing.bufnr, writing.real) ~= nil
end

--- Return whether the file was written, even if a later step failed.
---@param writing acp.Writing
---@param ok boolean
---@param gone boolean
local function is_made(writing, ok, gone)
  local bufnr, now = writing.bufnr, file_stamp.of_path(writing.name)
  if not writing.begun or not now then return false end
  if gone then return ok or now ~= writing.before end
  return not vim.bo[bufnr].modified or saves_of(bufnr) > writing.saves
end

--- Remove the empty directories that a write has created above the file.
---@param writing acp.Writing
local function remove_new_folders(writing)
  for parent in vim.fs.parents(writing.name) do
    if parent == writing.folder or not uv.fs_rmdir(parent) then return end
  end
end

--- Restore the file after a write that failed or was refused.
---@param writing acp.Writing
---@param copy acp.BackupCopy
---@param ok boolean
---@param err any
---@return acp.WriteResult
local function restore_file(writing, copy, ok, err)
  local why = writing.why or (ok and 'the buffer was not written') or save.reason(err)
  local is_precreated = copy.new and writing.before ~= nil
  local is_untouched = is_precreated and file_stamp.of_path(writing.name) == writing.before
  local left = writing.begun and copy.copy
  if not nofollow.why_elsewhere(writing.real) then -- else the name is that of another file
    left = (writing.begun or is_untouched) and backup_copy.restore(writing.name, copy)
    if copy.new then remove_new_folders(writing) end
  end
  if not writing.begun then backup_copy.drop(copy) end
  why = left and ('%s; what the file held is in %s'):format(why, left) or why
  local locked = not ok and save.is_locked(err)
  return { done = false, outcome = writing.outcome or (locked and 'busy') or 'failed', why = why }
end

--- Save again after an autocommand has undone the change that was just saved.
---@param writing acp.Writing
---@return acp.WriteResult
local function save_again(writing)
  local ok, err = save.run(writing.bufnr, 'silent keepalt keepjumps lockmarks noautocmd write!')
  save.forget_stamp_and_conflict(writing.bufnr)
  local why = ok and UNDONE or ('%s; %s'):format(UNDONE, save.reason(err))
  return { done = false, outcome = 'failed', why = why }
end

--- Return the result of a successful write. Save again if an autocommand has undone the change.
--- Reload a file that an autocommand has rewritten, and forget the buffer's stamp and conflict.
---@param writing acp.Writing
---@param by_others boolean a user's BufWriteCmd did it
---@param autocmds boolean
---@return acp.WriteResult
local function success_of(writing, by_others, autocmds)
  local bufnr, name = writing.bufnr, writing.name
  if not writing.reread and text.change_of(bufnr) < writing.change then
    return save_again(writing)
  end
  local rewritten = autocmds and handlers.rewrote(bufnr)
  if rewritten then save.reload(bufnr) end
  save.forget_stamp_and_conflict(bufnr)
  local now = file_stamp.of_path(name)
  local filtered = rewritten
    or vim.bo[bufnr].endoffile
    or vim.bo[bufnr].modified
    or (by_others and now ~= writing.before)
  local edited = writing.edited or rewritten
  return { done = true, edited = edited, stamp = not filtered and now or nil }
end

--- Write the buffer with `:write!`, and restore the file if that fails. Call `check` of
--- `acp.buffers.save` first.
---@param options acp.WriteOptions
---@return acp.WriteResult
function M.write(bufnr, options)
  local name = api.nvim_buf_get_name(bufnr)
  local copy, err = backup_copy.copy_file(bufnr, uv.fs_stat(name))
  if not copy then return { done = false, outcome = 'failed', why = save.reason(err) } end
  local folder = copy.new and select(2, save.existing_parent(name)) or nil
  if copy.new and options.rights then precreate(name, options.rights) end
  local writing = { ---@type acp.Writing
    bufnr = bufnr,
    name = name,
    real = nofollow.real(bufnr),
    folder = folder,
    before = file_stamp.of_path(name),
    saves = saves_of(bufnr),
    change = text.change_of(bufnr),
    edited = false,
    reread = false,
    begun = false,
  }
  local by_others = options.autocmds and handlers.any(bufnr, 'BufWriteCmd')
  local ok = true
  if not options.autocmds or by_others or not triggers_pre() then
    ok, err = pcall(final_check, writing, options.observe)
  end
  if ok then
    ok, err = run(writing, options)
  end
  local gone = is_gone(writing)
  if not is_made(writing, ok, gone) then return restore_file(writing, copy, ok, err) end
  backup_copy.drop(copy)
  if gone then return { done = true, stamp = file_stamp.of_path(name), text = writing.text } end
  return success_of(writing, by_others, options.autocmds)
end

return M
