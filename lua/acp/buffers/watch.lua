--- Which buffers changed by the user's hand, told to the host once per turn of the event loop.
--- Attached only to buffers that an agent read or wrote, or that hold its pending edits. The verb
--- `edited` carries one region; our own edits are held back, the host knows them.
local M = {}

local api, uv = vim.api, vim.uv
local silent_saves = require('acp.buffers.silent_saves')

---@class acp.Watched
---@field path string real path of the file
---@field tick integer 'changedtick' up to which the host knows the text
---@field count integer lines at that tick
---@field change integer number of the change (`:undolist`) that the text is at
---@field newest integer the highest such number so far
---@field first integer|nil first row that changed since, nil when none has
---@field tail integer lines at the end that did not change
---@field reloaded? boolean read anew from its file since
---@field unread? boolean the host was told so and has not asked for the text yet
---@field held? boolean an edit of ours is under way
---@field detached? boolean Neovim has parted from it meanwhile: by `:edit` in an autocommand

local watched = {} ---@type table<integer, acp.Watched>
local changed = {} ---@type table<integer, true> those of which the host has not been told yet
local pending = {} ---@type table<string, true> files that hold pending edits
local roots = {} ---@type string[] directories in which an agent's turn runs, or will at once
local running = {} ---@type string[] those of them that the host has told
local homes = {} ---@type table<integer, string[]> directories of sessions that have had a turn
local expected = {} ---@type integer[][] prompts on their way: number, and number of the session
local prompts = 0
local looking = false
local unaware = {} ---@type table<integer, true> buffers whose save does not settle a conflict

local function tell(verb, args)
  local host = require('acp.base.host')
  if host.running() then host.notify(verb, args) end
end

---@return string|nil real path
local function path_of(bufnr)
  local name = api.nvim_buf_get_name(bufnr)
  return name ~= '' and vim.bo[bufnr].buftype == '' and uv.fs_realpath(name) or nil
end

--- Whether an agent is at work on the file's directory.
---@param path string|nil
function M.at_work(path)
  return path ~= nil and vim.iter(roots):any(function(root) return vim.startswith(path, root) end)
end

--- The number of the change that a buffer is at; lower ones come back by undo.
local function change_of(bufnr) return api.nvim_buf_call(bufnr, vim.fn.changenr) end

local function known(watch, bufnr)
  watch.tick = api.nvim_buf_get_changedtick(bufnr)
  watch.change = change_of(bufnr)
  watch.newest = math.max(watch.newest or 0, watch.change)
  watch.count = api.nvim_buf_line_count(bufnr)
  watch.first, watch.reloaded = nil, nil
end

--- Tell the host what changed in a buffer since it was told last.
---@param asked? boolean the host is about to be given the present tick as well
function M.flush(bufnr, asked)
  local watch = watched[bufnr]
  changed[bufnr] = nil
  if not watch or watch.held or not api.nvim_buf_is_loaded(bufnr) then return end
  if not (asked or watch.first or watch.reloaded) then
    return -- a tick that nobody was told would part the next region from what the host knows
  end
  local args = { path = watch.path, bufnr = bufnr, base = watch.tick }
  if watch.reloaded then
    args.reloaded = true
  elseif watch.first then
    local last = api.nvim_buf_line_count(bufnr) - watch.tail
    args.first, args.last = watch.first, watch.count - watch.tail
    args.lines = api.nvim_buf_get_lines(bufnr, watch.first, last, false)
    args.eol = require('acp.buffers.text').ends(bufnr)
    args.modified = vim.bo[bufnr].modified
  end
  watch.unread = not asked and (watch.unread or args.reloaded) or nil
  local newest, last = watch.newest, watch.change
  known(watch, bufnr)
  local forgot = args.reloaded and watch.change == 0 -- a long file has no history ('undoreload')
  args.undone = watch.change ~= last and watch.change <= newest and not forgot or nil
  args.tick = watch.tick
  if args.lines or args.reloaded then tell('edited', args) end
end

--- Tell the host all changes before what the user does next: what their agent does then must not
--- meet an older text.
function M.flush_all()
  for bufnr in pairs(changed) do
    M.flush(bufnr)
  end
end

--- Something became of a watched buffer that no region tells: the host asks before it says again
--- what the buffer holds.
local function doubt(bufnr)
  local watch = watched[bufnr]
  if watch and not watch.held then tell('doubted', { path = watch.path }) end
end

local function on_lines(watch, bufnr, first, last)
  if watch.held then return end
  -- An emptied buffer has a line that is none of those it had: `:%delete` tells that none is left.
  local count = api.nvim_buf_line_count(bufnr)
  local tail = count == 1 and 0 or count - last
  if not watch.first then
    watch.first, watch.tail = first, tail
    changed[bufnr] = true
    vim.schedule(function() M.flush(bufnr) end)
    return
  end
  watch.first, watch.tail = math.min(watch.first, first), math.min(watch.tail, tail)
end

local function on_reload(watch, bufnr)
  if not watch.held and not watch.reloaded then
    watch.reloaded = true
    changed[bufnr] = true
    vim.schedule(function() M.flush(bufnr) end)
  end
end

--- Watch a buffer from now on; the host knows its text as it is.
---@param path string real path of its file
function M.attach(bufnr, path)
  if watched[bufnr] then return end
  local watch = { path = path, tail = 0 } ---@type acp.Watched
  known(watch, bufnr)
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
        watched[bufnr] = nil
        -- Neovim 0.10 has freed the text by now: `vim.bo` enters the buffer, and fails.
        local unsaved = vim.fn.getbufinfo(bufnr)[1].changed == 1 or nil
        tell('edited', { path = path, bufnr = bufnr, detached = true, unsaved = unsaved })
      end
    end,
  })
  watched[bufnr] = attached and watch or nil
end

--- Whether an edit of ours is under way.
function M.held(bufnr) return watched[bufnr] ~= nil and watched[bufnr].held == true end

--- The save that is under way tells nothing of the conflict with what is on disk.
function M.unaware(bufnr) unaware[bufnr] = true end

--- The real path of a watched buffer's file.
---@return string|nil
function M.path(bufnr) return watched[bufnr] and watched[bufnr].path end

--- An edit of ours begins: what happens to the buffer until `release` is not the user's.
function M.hold(bufnr)
  local watch = watched[bufnr]
  if watch then watch.held = true end
end

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
      tell('edited', { path = watch.path, bufnr = bufnr, detached = true })
    end
  end
  if loaded then
    known(watch, bufnr)
    silent_saves.note(bufnr)
  end
end

--- Something may have become of files while nobody looked: a commit, an edit elsewhere.
local function look()
  if next(pending) and not looking then
    looking = true
    vim.schedule(function()
      looking = false
      tell('refresh', vim.empty_dict())
    end)
  end
end

--- Whether the text on disk ends with a newline once the buffer is saved.
local function saved_eol(bufnr)
  local options = vim.bo[bufnr]
  local fixed = options.fixendofline and not options.binary
  return require('acp.buffers.text').ends(bufnr)
    or (fixed and not require('acp.buffers.text').is_empty(bufnr))
end

--- Whether the bytes on disk do not tell the text that was saved: an encoding that is not known,
--- `++enc`, a formatter that was run on the file.
local function is_coded(bufnr)
  local handlers = require('acp.buffers.save_handlers')
  return vim.v.cmdarg ~= '' or not handlers.is_plain(bufnr) or handlers.rewrote(bufnr)
end

--- A file was saved that the host need not merge: while no agent is at work on it (`idle`), or
--- another one than the buffer's.
local function tell_saved(path, coded, idle)
  local stamp = require('acp.buffers.file_stamp').at(path)
  tell('saved', { path = path, stamp = stamp, coded = coded, idle = idle })
end

--- A buffer's text, or a part of it, was written to another file.
local function tell_other(path) tell_saved(path, true, not M.at_work(path) or nil) end

--- Where the save has ended the text ('fixendofline'), 'endofline' says so, as after `:edit`:
--- agents are told that newline, and do not drop it with their next write.
local function end_with_file(bufnr, ended)
  local options = vim.bo[bufnr]
  if ended and not options.endofline then
    local modified = options.modified
    options.endofline, options.modified = true, modified
  end
end

---@param args { buf: integer, match: string, unheard?: boolean }
local function on_saved(args)
  local watch = watched[args.buf]
  local path = watch and watch.path or path_of(args.buf)
  local own = uv.fs_realpath(args.match) == path
  local held = watch and watch.held
  local other = not own and uv.fs_realpath(args.match)
  if other and not held then
    tell_other(other)
  elseif not held and own and (watch or M.at_work(path)) then
    M.flush(args.buf)
    local saved = { path = path, bufnr = args.buf, eol = saved_eol(args.buf) }
    local options = vim.bo[args.buf]
    saved.layout = { options.fileencoding, options.bomb, options.fileformat }
    saved.coded = is_coded(args.buf) or nil
    local automatic = args.silent or require('acp.buffers.automatic_saves').is_one()
    saved.unaware = unaware[args.buf] or automatic
    unaware[args.buf] = nil
    saved.stamp = require('acp.buffers.file_stamp').at(path)
    end_with_file(args.buf, saved.eol)
    if not watch or watch.unread then
      saved.lines = api.nvim_buf_get_lines(args.buf, 0, -1, false)
    end
    tell('saved', saved)
  elseif not held and own and path then
    tell_saved(path, is_coded(args.buf) or nil, true)
    end_with_file(args.buf, saved_eol(args.buf))
  end
  look()
end

local function on_read(args)
  local path = path_of(args.buf)
  if path and pending[path] then tell('opened', { path = path, bufnr = args.buf }) end
end

local on = require('acp.base.autocmds').group('acp.watch')
on('BufWritePost', on_saved)
silent_saves.listen(
  function(bufnr) on_saved({ buf = bufnr, match = api.nvim_buf_get_name(bufnr), silent = true }) end
)
on({ 'FileWritePost', 'FileAppendPost' }, function(args)
  local path = uv.fs_realpath(args.match)
  if path then tell_other(path) end
end)
on('BufReadPost', on_read)
-- The event names no buffer, but the one whose option it is is current meanwhile.
on('OptionSet', function() doubt(api.nvim_get_current_buf()) end, {
  pattern = { 'binary', 'bomb', 'buftype', 'endofline', 'fileencoding', 'fileformat', 'modified' },
})
on({ 'BufReadPost', 'BufNewFile', 'BufFilePost' }, function(args)
  -- Another buffer may be the file's now.
  local path = path_of(args.buf)
  for bufnr, watch in pairs(watched) do
    if bufnr == args.buf or watch.path == path then doubt(bufnr) end
  end
end)
on({ 'FocusGained', 'ShellCmdPost', 'TermLeave' }, look)

--- The files that hold pending edits, all of them.
function M.pending(paths)
  pending = {}
  for _, path in ipairs(paths) do
    pending[path] = true
  end
end

local function settle_roots()
  local all = vim.list_extend({}, running)
  for _, prompt in ipairs(expected) do
    vim.list_extend(all, homes[prompt[2]])
  end
  roots = vim.tbl_map(function(root) return (root:gsub('/+$', '')) .. '/' end, all)
end

--- The directories in which turns run now: files saved there are told.
---@param list string[]
---@param heard? integer prompts up to this number are known to who says that
---@return boolean any
function M.turns(list, heard)
  running = list
  expected = vim.tbl_filter(function(one) return one[1] > (heard or 0) end, expected)
  settle_roots()
  silent_saves.come_last()
  return #roots > 0
end

--- The directories of a session, in which its next turn will run.
---@param n integer
---@param list string[]
function M.home(n, list) homes[n] = list end

--- A prompt goes to session `n`, whose turn runs from now on: nobody need ask whether the saves
--- before it were told, and those from now on will be. `expected` comes before anything else.
---@param n integer
---@return integer|nil number of the prompt; nil where the host has to ask
function M.expect(n)
  if not homes[n] then return nil end
  prompts = prompts + 1
  expected[#expected + 1] = { prompts, n }
  settle_roots()
  silent_saves.look()
  return prompts
end

--- That prompt is on its way: do what it need not wait for.
function M.expected() silent_saves.come_last() end

--- The host is gone: what it knew of buffers, the next one does not, and no turn runs.
function M.host_gone()
  watched, unaware, changed = {}, {}, {}
  homes, expected = {}, {}
  M.turns({})
end

return M
