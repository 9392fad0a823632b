--- Files that an agent changed on disk by itself, brought to their buffers by hunks. While turns
--- run Neovim asks nothing about such files (W11, W12, E211), and later it lets the user save them.
local M = {}

local api, uv = vim.api, vim.uv or vim.loop
local buffers, save, watch = require('acp.buffers'), require('acp.save'), require('acp.watch')

local PATIENCE_MS = 2000 -- how long a user's `:w` waits for a file's change to be merged

local guarded = {} ---@type table<integer, integer> buffer -> its BufWriteCmd
local lasting = {} ---@type table<integer, boolean> buffers that have one until they are written
local stamps = {} ---@type table<integer, string> the file as the buffer knows it, while turns run
local looking = {} ---@type table<string, true> files that the host looks at
local group = api.nvim_create_augroup('acp.outside', {})

--- The buffer of a file as it is, not brought up to date. Like `acp.buffers.read`.
function M.peek(path, real)
  return buffers.peek(path, real)
end

local unguard ---@type fun(bufnr: integer)
local guard ---@type fun(bufnr: integer, changed: boolean)

--- Have the host look at a file that changed on disk: it is an agent's doing, or not.
---@param bufnr integer
---@return string path real
local function look(bufnr)
  local path = assert(uv.fs_realpath(api.nvim_buf_get_name(bufnr)))
  looking[path] = true
  require('acp.host').notify('disk_changed', { path = path })
  return path
end

--- The host has looked at it, and merged what could be.
---@param path string
function M.looked(path)
  looking[path] = nil
end

--- The user saves a buffer whose file an agent has changed since: first both texts are made one.
--- Where they are in conflict, this save is not its end.
---@param bufnr integer
---@param name string
local function settle(bufnr, name)
  local now, path = save.stamp(name), uv.fs_realpath(name)
  local known = save.is_parted(bufnr)
  if not now or not stamps[bufnr] then
    return
  elseif now ~= stamps[bufnr] and not known then
    look(bufnr)
  elseif not looking[path] then
    return
  end
  vim.wait(PATIENCE_MS, function()
    return not looking[path]
  end, 5)
  if save.is_parted(bufnr) and not known then
    watch.unaware(bufnr)
    local text = vim.fs.basename(name) .. ': the agent changed the same lines on disk meanwhile'
    require('acp.notify').echo('warn', text .. '; :Acp review shows its text')
  end
end

--- `:write` of a buffer whose file may have changed after it was read: where it has, Neovim would
--- ask. Then the user's command is run with a bang; BufWritePre and the others fire within it.
local function write(args)
  local bufnr, name = args.buf, api.nvim_buf_get_name(args.buf)
  local real = uv.fs_realpath(args.match)
  local own = args.match == name or (real ~= nil and real == uv.fs_realpath(name))
  local ours, arg, bang = watch.held(bufnr), vim.v.cmdarg, vim.v.cmdbang == 1
  if own and not ours then
    settle(bufnr, name)
  end
  local changed = lasting[bufnr] == true
  unguard(bufnr)
  local ok, err = pcall(function()
    if own and ours then
      vim.cmd('silent keepalt lockmarks write! ++p')
    elseif own then
      vim.cmd(('keepalt write%s %s'):format((changed or bang) and '!' or '', arg))
    else
      vim.cmd.write({ args = { vim.fn.fnameescape(args.file) }, bang = bang })
    end
  end)
  if not (own and ok) then
    guard(bufnr, changed)
  end
  if not ok then
    api.nvim_echo({ { save.reason(err), 'ErrorMsg' } }, true, {})
  end
end

---@param bufnr integer
---@param changed boolean the file has changed after it was read
guard = function(bufnr, changed)
  lasting[bufnr] = changed or lasting[bufnr]
  if not guarded[bufnr] and vim.bo[bufnr].buftype == '' then
    guarded[bufnr] = api.nvim_create_autocmd('BufWriteCmd', {
      group = group,
      buffer = bufnr,
      nested = true,
      callback = write,
    })
  end
end

unguard = function(bufnr)
  lasting[bufnr] = nil
  if guarded[bufnr] then
    pcall(api.nvim_del_autocmd, guarded[bufnr])
    guarded[bufnr] = nil
  end
end

api.nvim_create_autocmd('BufWipeout', {
  group = group,
  callback = function(args)
    guarded[args.buf], lasting[args.buf], stamps[args.buf] = nil, nil, nil
  end,
})

--- Bring a buffer that is at `tick` to what its file's change made of it. `stamp` is the file's as
--- the host read it (nil: it is gone). `want` has `eol`, `empty`, and `modified`: whether unsaved
--- edits are left. Returns `{ outcome, why, snapshot? }` like `acp.buffers.write`.
function M.take(bufnr, tick, hunks, want, stamp)
  if not api.nvim_buf_is_loaded(bufnr) or api.nvim_buf_get_changedtick(bufnr) ~= tick then
    return { 'moved' }
  end
  local name = api.nvim_buf_get_name(bufnr)
  if save.stamp(name) ~= (stamp ~= vim.NIL and stamp or nil) then
    return { 'moved' }
  end
  watch.flush(bufnr)
  watch.hold(bufnr)
  local modifiable = vim.bo[bufnr].modifiable
  vim.bo[bufnr].modifiable = true -- a view of the file, as 'autoread' keeps it current
  local ok, err = buffers.edit(bufnr, hunks, want)
  vim.bo[bufnr].modifiable = modifiable
  if ok then
    save.adopt(bufnr, want.modified)
    stamps[bufnr] = stamps[bufnr] and save.stamp(name)
    guard(bufnr, true)
  end
  watch.release(bufnr)
  if not ok then
    return { save.is_locked(err) and 'busy' or 'failed', save.reason(err) }
  end
  return { 'done', '', buffers.snapshot(bufnr) }
end

--- The file of a buffer with other unsaved edits changed: nothing is touched, nothing is asked.
function M.part(bufnr)
  if api.nvim_buf_is_loaded(bufnr) then
    save.part(bufnr)
    guard(bufnr, true)
  end
end

--- A buffer whose file is no more: emptied, in one undo step, and gone unless a window shows it.
function M.vacate(bufnr)
  if not api.nvim_buf_is_loaded(bufnr) then
    return
  end
  watch.flush(bufnr)
  watch.hold(bufnr)
  buffers.edit(bufnr, {}, { eol = true, empty = true })
  save.adopt(bufnr, false)
  watch.release(bufnr)
  if #vim.fn.win_findbuf(bufnr) == 0 then
    api.nvim_buf_delete(bufnr, { force = true })
  end
end

--- Text of all loaded files with unsaved edits: `{ path, lines, eol }` each.
function M.unsaved()
  local found = {}
  for _, bufnr in ipairs(api.nvim_list_bufs()) do
    local name = api.nvim_buf_is_loaded(bufnr) and api.nvim_buf_get_name(bufnr) or ''
    if name ~= '' and vim.bo[bufnr].buftype == '' and vim.bo[bufnr].modified then
      found[#found + 1] = {
        path = uv.fs_realpath(name) or vim.fs.normalize(name),
        lines = api.nvim_buf_get_lines(bufnr, 0, -1, false),
        eol = buffers.ends(bufnr),
      }
    end
  end
  return found
end

--- Neovim finds a file changed by a turn that runs. A clean buffer is read again, in one with
--- unsaved edits both texts stay until the host has merged them.
local function changed(args)
  if save.probing then
    return
  end
  local clean = not vim.bo[args.buf].modified
  vim.v.fcs_choice = clean and vim.v.fcs_reason ~= 'deleted' and 'reload' or ''
  if not clean then
    save.part(args.buf, true)
    guard(args.buf, true)
    look(args.buf)
  end
end

local hushed = api.nvim_create_augroup('acp.outside.turn', {})

local function hush(bufnr)
  local name = api.nvim_buf_get_name(bufnr)
  if vim.bo[bufnr].buftype == '' and name ~= '' and watch.at_work(uv.fs_realpath(name)) then
    api.nvim_clear_autocmds({ group = hushed, buffer = bufnr })
    stamps[bufnr] = save.stamp(name)
    local function on(event, callback)
      api.nvim_create_autocmd(event, { group = hushed, buffer = bufnr, callback = callback })
    end
    on('FileChangedShell', changed)
    on('FileChangedShellPost', function()
      if not save.probing and not vim.bo[bufnr].modified then
        stamps[bufnr] = save.stamp(name)
        look(bufnr)
      end
    end)
    guard(bufnr, false)
  end
end

--- Answer for the user in buffers of directories where turns run, or leave all as it was.
---@param on boolean
function M.quiet(on)
  api.nvim_clear_autocmds({ group = hushed })
  stamps = {}
  for bufnr in pairs(vim.deepcopy(guarded)) do
    if not lasting[bufnr] then
      unguard(bufnr)
    end
  end
  if not on then
    return
  end
  for _, bufnr in ipairs(api.nvim_list_bufs()) do
    if api.nvim_buf_is_loaded(bufnr) then
      hush(bufnr)
    end
  end
  api.nvim_create_autocmd({ 'BufReadPost', 'BufWritePost', 'BufFilePost' }, {
    group = hushed,
    callback = function(args)
      hush(args.buf)
    end,
  })
end

return M
