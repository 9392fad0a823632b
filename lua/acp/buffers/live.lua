--- Reading and editing of live buffers for agents. Nothing here prompts, opens a window or moves
--- the focus. A snapshot is `{ bufnr, changedtick, flags, fileencoding, lines? }`. If no buffer has
--- the file, it is `{ 0, fileencodings, fileformats, why?, taken?, busy? }`.
local M = {}

local api, fn, uv = vim.api, vim.fn, vim.uv
local save, watch = require('acp.buffers.save'), require('acp.buffers.watch')
local user_busy, user_marks = require('acp.buffers.user_busy'), require('acp.buffers.user_marks')
local writer = require('acp.buffers.write')
local silent_saves, put = require('acp.buffers.silent_saves'), require('acp.buffers.apply')
local nofollow = require('acp.buffers.nofollow')
local text = require('acp.buffers.text')

local EOL, MODIFIED, BOMB, NO_BYTES, STALE, BINARY = 1, 2, 8, 16, 32, 128
local ABSENT = { gone = 256, new = 256 + 512 }
local ENDS = { unix = 0, dos = 4, mac = 64 }

local function option(bufnr, name) return api.nvim_get_option_value(name, { buf = bufnr }) end

--- Return whether the buffer contains the text of the file that it is named after.
local function has_file_text(bufnr)
  local buftype = option(bufnr, 'buftype')
  return buftype == '' or buftype == 'acwrite' or buftype == 'help'
end

--- Return the buffer of exactly that name (or file id). `bufnr(name)` would accept patterns.
local function find_by_name(name) return fn.bufexists(name) == 1 and fn.bufadd(name) or nil end

--- Return the buffer whose name resolves to a path. Neovim compares names and file ids, but an id
--- is stale once the file was replaced on disk.
local function find_by_resolved_name(real)
  for _, bufnr in ipairs(api.nvim_list_bufs()) do
    local name = api.nvim_buf_is_loaded(bufnr) and api.nvim_buf_get_name(bufnr) or ''
    local is_other = name == '' or watch.path(bufnr) == name -- a different real path
    if not is_other and has_file_text(bufnr) and uv.fs_realpath(name) == real then return bufnr end
  end
end

--- Return the loaded buffer with the text of a file, nil if there is none.
---@param path string as an agent spelled it
---@param real string its real path
---@param known integer buffer that the host knows for the file, 0 without one
local function find_buffer(path, real, known)
  if known > 0 and api.nvim_buf_is_loaded(known) and api.nvim_buf_get_name(known) == real then
    return has_file_text(known) and known or nil -- names are unique
  end
  for _, name in ipairs(path == real and { real } or { real, path }) do
    local bufnr = find_by_name(name)
    if bufnr and api.nvim_buf_is_loaded(bufnr) and has_file_text(bufnr) then return bufnr end
  end
  return find_by_resolved_name(real)
end

local function snapshot(bufnr, known, stale, absent)
  watch.flush(bufnr, true)
  local tick = api.nvim_buf_get_changedtick(bufnr)
  local flags = (option(bufnr, 'endofline') and EOL or 0)
    + (option(bufnr, 'modified') and MODIFIED or 0)
    + ENDS[option(bufnr, 'fileformat')]
    + (option(bufnr, 'bomb') and BOMB or 0)
    + (text.is_empty(bufnr) and NO_BYTES or 0)
    + (stale and STALE or 0)
    + (option(bufnr, 'binary') and BINARY or 0)
    + (ABSENT[absent] or 0)
  local lines = known ~= tick and api.nvim_buf_get_lines(bufnr, 0, -1, true) or nil
  return { bufnr, tick, flags, option(bufnr, 'fileencoding'), lines }
end

local function answer_without_buffer(why, held, busy)
  return { 0, vim.o.fileencodings, vim.o.fileformats, why, held, busy }
end

--- Return the buffer of a file. Return nil and an answer without a buffer if there is none, if
--- Neovim is reading the file, or if the path or the buffer's name leads elsewhere since the host
--- resolved the path.
local function find_or_answer(path, real, known)
  local moved = nofollow.why_elsewhere(real)
  if moved then return nil, answer_without_buffer(moved, true) end
  local bufnr = find_buffer(path, real, known)
  moved = bufnr and nofollow.why_name_moved(bufnr, real)
  if not bufnr or moved then return nil, answer_without_buffer(moved, moved ~= nil) end
  local reading = user_busy.why_empty(bufnr)
  if reading then return nil, answer_without_buffer(reading, true, true) end
  return bufnr
end

local function refresh_and_answer(bufnr, real, known)
  silent_saves.check(bufnr)
  local stale, absent, moved = save.refresh(bufnr)
  if moved then return answer_without_buffer(moved, true) end
  watch.attach(bufnr, real)
  return snapshot(bufnr, known, stale, absent)
end

--- Return a snapshot of the file's buffer, without lines if it is still `known_bufnr` at
--- `known_tick`.
function M.read(path, real, known_bufnr, known_tick)
  local bufnr, none = find_or_answer(path, real, known_bufnr)
  if not bufnr then return none end
  return refresh_and_answer(bufnr, real, bufnr == known_bufnr and known_tick or nil)
end

--- Return the loaded buffer of a file after updating it from disk, or nil.
---@param real string resolved path
---@return integer|nil bufnr
---@return string|nil why the file cannot be read, if there is no buffer for this reason
function M.buffer(real)
  local bufnr, none = find_or_answer(real, real, 0)
  if not bufnr then return nil, none[4] end
  silent_saves.check(bufnr)
  local _, _, moved = save.refresh(bufnr)
  if moved then return nil, moved end
  return bufnr
end

--- Return a snapshot of the file's buffer without updating it from disk.
function M.peek(path, real)
  local bufnr, none = find_or_answer(path, real, 0)
  if not bufnr then return none end
  silent_saves.check(bufnr)
  watch.attach(bufnr, real)
  return snapshot(bufnr)
end

--- Return a snapshot of the file's buffer. If none is loaded, load the file into a hidden, listed
--- buffer.
function M.load(path, real, fileencodings)
  local bufnr, none = find_or_answer(path, real, 0)
  if bufnr then
    return refresh_and_answer(bufnr, real)
  elseif none[4] then
    return none
  end
  bufnr = find_by_name(real)
  if bufnr and api.nvim_buf_is_loaded(bufnr) then
    return answer_without_buffer(
      ("a buffer with 'buftype' %s has this name"):format(vim.bo[bufnr].buftype),
      true
    )
  end
  local ok, why = pcall(save.load, real, fileencodings)
  local loaded = find_by_name(real)
  if ok and loaded and api.nvim_buf_is_loaded(loaded) then
    vim.bo[loaded].buflisted = true
    watch.attach(loaded, real)
    return snapshot(loaded)
  end
  if loaded then -- an error in an autocommand may have left it partly read
    pcall(api.nvim_buf_delete, loaded, { force = true, unload = bufnr ~= nil })
  end
  return answer_without_buffer(ok and 'the buffer does not load' or save.reason(why))
end

-- Whether an edit removed the CTRL-Z at the end of a file with CR LF, since it ends a line only.
local has_lost_ctrl_z = {} ---@type table<integer, true>

local function apply(bufnr, hunks, want)
  put.apply_hunks(bufnr, hunks)
  local options = vim.bo[bufnr]
  if want.empty then api.nvim_buf_set_lines(bufnr, 0, -1, true, {}) end
  if not want.eol and options.endoffile then
    options.endoffile, has_lost_ctrl_z[bufnr] = false, true
  elseif want.eol and has_lost_ctrl_z[bufnr] then
    options.endoffile, has_lost_ctrl_z[bufnr] = true, nil
  end
  if not want.empty and options.endofline ~= want.eol then
    options.endofline = want.eol
    options.fixendofline = want.eol and options.fixendofline -- else the next `:w` adds a newline
  end
end

--- Close the open undo block, so that the agent's edit gets its own even while the user types.
local function close_undo_block(bufnr) vim.bo[bufnr].undolevels = vim.bo[bufnr].undolevels end

local function edit(bufnr, hunks, want)
  local options = vim.bo[bufnr]
  local readonly = options.readonly
  if readonly then
    options.readonly = false -- else the change triggers the warning W10, which pauses for a second
  end
  close_undo_block(bufnr)
  local ok, err = pcall(apply, bufnr, hunks, want)
  if readonly then options.readonly = true end
  return ok, err
end

--- Go back to the change before the agent's, even if an autocommand has undone more.
local function undo_edit(bufnr, before)
  local change = text.change_of(bufnr)
  if change ~= before.change then
    local back = change == before.change + 1 and 'undo!' or 'undo ' .. before.change
    pcall(api.nvim_buf_call, bufnr, function()
      local view = fn.winsaveview()
      vim.cmd('silent! ' .. back)
      fn.winrestview(view)
    end)
  end
  local options = vim.bo[bufnr]
  options.endofline, options.fixendofline = before.endofline, before.fixendofline
  options.endoffile, has_lost_ctrl_z[bufnr] = before.endoffile, before.has_lost_ctrl_z
  options.modified = before.modified
end

--- Delete a buffer that was loaded only for this write.
local function delete_loaded(bufnr, fresh)
  if fresh then pcall(api.nvim_buf_delete, bufnr, { force = true }) end
end

local function answer_of_failure(bufnr, before, outcome, why, fresh)
  if not api.nvim_buf_is_loaded(bufnr) then return { 'failed', why } end
  undo_edit(bufnr, before)
  local now = snapshot(bufnr)
  delete_loaded(bufnr, fresh and outcome ~= 'busy')
  if outcome == 'moved' then return { 'moved' } end
  return { outcome, why, false, now }
end

M.edit, M.snapshot, M.close_undo_block = edit, snapshot, close_undo_block

--- Save the buffer after an edit.
---@return acp.WriteResult
local function save_as(bufnr, want)
  return writer.write(bufnr, {
    autocmds = want.autocmds,
    rights = want.rights,
    observe = function(edited)
      local now = api.nvim_buf_get_changedtick(bufnr)
      local saved = snapshot(bufnr, not edited and now or nil)
      saved[3] = bit.band(saved[3], bit.bnot(MODIFIED))
      return saved
    end,
  })
end

local function write(bufnr, tick, hunks, want)
  if not api.nvim_buf_is_loaded(bufnr) or api.nvim_buf_get_changedtick(bufnr) ~= tick then
    return { 'moved' }
  end
  -- The host handles the verb before it tries again.
  if want.cancels and require('acp.base.host').is_cancelling(want.cancels) then
    return { 'moved' }
  end
  local real = want.real or nofollow.real(bufnr)
  if nofollow.why_name_moved(bufnr, real) then return { 'moved' } end
  local why_not = user_busy.why_in_transfer(bufnr) or user_busy.why_busy(bufnr, hunks)
  if why_not then return { 'busy', why_not } end
  local options = vim.bo[bufnr]
  local is_due = want.save == 'always'
    or (want.save == 'auto' and (want.fresh or not options.modified))
  local outcome, why = save.check(bufnr, is_due, want.synced)
  if outcome then
    delete_loaded(bufnr, want.fresh and outcome ~= 'moved' and outcome ~= 'busy')
    return { outcome, why }
  end
  local before = {
    change = text.change_of(bufnr),
    modified = options.modified,
    endofline = options.endofline,
    fixendofline = options.fixendofline,
    endoffile = options.endoffile,
    has_lost_ctrl_z = has_lost_ctrl_z[bufnr],
  }
  local ok, err = edit(bufnr, hunks, want)
  if not ok then
    local locked = save.is_locked(err) and 'busy' or 'failed'
    return answer_of_failure(bufnr, before, locked, save.reason(err), want.fresh)
  end
  local result = is_due and save_as(bufnr, want) or {}
  if result.text then
    return { 'done', '', true, result.text, result.stamp, true }
  elseif is_due and not result.done then
    return answer_of_failure(bufnr, before, result.outcome, result.why, want.fresh)
  end
  close_undo_block(bufnr)
  if want.modified ~= nil then options.modified = want.modified end
  local now = api.nvim_buf_get_changedtick(bufnr)
  local saved = is_due and not options.modified
  return { 'done', '', saved, snapshot(bufnr, not result.edited and now or nil), result.stamp }
end

--- Apply hunks `{ first, last, lines }`, in ascending order of rows, to a buffer that is still at
--- `tick`, and save it. `want` is a `Change` of acp_nvim.files.ports. Return `{ outcome, why,
--- saved, snapshot?, stamp?, gone? }`. The snapshot has no lines if they are as requested. `stamp`
--- is the signature of the file, if its bytes are known to be the saved text. `gone` means that the
--- buffer was saved but no longer belongs to the file.
function M.write(bufnr, tick, hunks, want)
  watch.flush(bufnr)
  watch.hold(bufnr)
  local answer = user_marks.keep(bufnr, write, bufnr, tick, hunks, want)
  watch.release(bufnr)
  return answer
end

local function obstacle(path, policy)
  local bufnr, none = find_or_answer(path, path, 0)
  if not bufnr then
    if none[4] then return 'failed', none[4] end
    if policy ~= 'never' then return save.check_closed(path) end
    return
  end
  local due = policy == 'always' or (policy == 'auto' and not vim.bo[bufnr].modified)
  return save.check(bufnr, due)
end

--- Return why files cannot be written and saved, by path. Files that can be written are left out.
---@param paths string[] real paths
---@param policy 'auto'|'always'|'never'
---@return table<string, string>
function M.obstacles(paths, policy)
  local reasons = vim.empty_dict()
  for _, path in ipairs(paths) do
    local outcome, why = obstacle(path, policy)
    if outcome and outcome ~= 'moved' and outcome ~= 'busy' then reasons[path] = why end
  end
  return reasons
end

return M
