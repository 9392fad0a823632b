--- Notes on saves by the user, for hosts of other Neovims whose agents are at work. Such a host has
--- an inbox file (`acp_nvim/files/changes/save_notes.py`). Without inboxes, a save only reads their
--- folder.
local M = {}

local uv = vim.uv

local MAX_FILE = 256 * 1024 -- of a file whose contents are noted
local MAX_INBOX = 4 * 1024 * 1024 -- from this size on, an inbox gets no contents
local MAX_BEGUN = 2 * MAX_INBOX -- from this size on, an inbox gets no notes before writes
local MAX_ENDED = 3 * MAX_INBOX -- larger, so that a write noted at its start is noted at its end
local FLAGS = uv.constants.O_WRONLY + uv.constants.O_APPEND -- never create a removed inbox again
local NO_FILE, UNKNOWN = -1, -2 -- in place of the size of a content

---@class acp.FileContent
---@field stamp string '' if there is no file
---@field size integer bytes, `NO_FILE` or `UNKNOWN`
---@field bytes string

local UNREAD = { stamp = '', size = UNKNOWN, bytes = '' } ---@type acp.FileContent

local folder ---@type string|nil
local begun = {} ---@type table<integer, { path: string, before: acp.FileContent }> writes by buffer

local function failed_writes() return require('acp.buffers.failed_writes') end

--- Return the inboxes of other Neovims.
---@return string[] paths
local function other_inboxes()
  folder = folder or vim.fn.stdpath('data') .. '/acp/saves/'
  local inboxes, scan = {}, uv.fs_scandir(folder)
  local name = scan and uv.fs_scandir_next(scan)
  while name do
    if not vim.startswith(name, require('acp.base.workspaces').instance .. '.') then
      inboxes[#inboxes + 1] = folder .. name
    end
    name = uv.fs_scandir_next(scan)
  end
  return inboxes
end

---@return acp.FileContent
local function read(path)
  local stat = uv.fs_stat(path)
  if not stat then return { stamp = '', size = NO_FILE, bytes = '' } end
  local content = { stamp = require('acp.base.host.file_stamp').from_stat(stat), size = UNKNOWN }
  local handle = stat.type == 'file' and stat.size <= MAX_FILE and uv.fs_open(path, 'r', 0)
  local bytes = handle and uv.fs_read(handle, MAX_FILE, 0) or nil
  if handle then uv.fs_close(handle) end
  content.bytes, content.size = bytes or '', bytes and #bytes or UNKNOWN
  return content
end

--- Append a note to inboxes.
---@param kind 'begin'|'end'|'failed'
---@param path string real path
---@param stamp string of the file, before or after the write
---@param before acp.FileContent
---@param after acp.FileContent
local function append(inboxes, kind, path, stamp, before, after)
  for _, inbox in ipairs(inboxes) do
    local handle = uv.fs_open(inbox, FLAGS, 0)
    local stat = handle and uv.fs_fstat(handle)
    if stat and stat.size < (kind == 'begin' and MAX_BEGUN or MAX_ENDED) then
      local old, new = before, after
      if stat.size > MAX_INBOX then
        old, new = UNREAD, UNREAD
      end
      local head = ('%s %d %d %d %d %d\n'):format(
        kind,
        vim.fn.getpid(),
        #path,
        #stamp,
        old.size,
        new.size
      )
      local note = head .. path .. stamp .. old.bytes .. new.bytes
      local written = uv.fs_write(handle, note, -1) or #note
      local now = written < #note and uv.fs_fstat(handle)
      if now and now.size == stat.size + written then
        uv.fs_ftruncate(handle, stat.size) -- the disk is full; later notes must be readable
      end
    end
    if handle then uv.fs_close(handle) end
  end
end

--- Return the real path of a file that need not exist; nil if its directory does not exist.
---@return string|nil
local function real_path(name)
  local real = uv.fs_realpath(name)
  local parent = not real and uv.fs_realpath(vim.fs.dirname(name))
  return real or parent and parent .. '/' .. vim.fs.basename(name) or nil
end

--- Note that the user has saved a file.
---@param path string|nil real path
---@param before? acp.FileContent nil if it is not known
function M.note(path, before)
  local inboxes = other_inboxes()
  if not path or not inboxes[1] then return end
  local after = read(path)
  append(inboxes, 'end', path, after.stamp, before or UNREAD, after)
end

--- Return whether the write of a buffer is an agent's.
local function is_held(bufnr)
  local watch = package.loaded['acp.buffers.watch']
  return watch and watch.is_held(bufnr)
end

--- Handle the start of a write. Formatters among the autocommands after it may write the file
--- again, so an autocommand after all others notes its end.
---@param args { buf: integer, match: string }
function M.on_write(args)
  begun[args.buf] = nil
  if is_held(args.buf) then return end
  local inboxes = other_inboxes()
  local path = inboxes[1] and real_path(args.match)
  if not path then return end
  local before = read(path)
  local write = { path = path, before = before }
  begun[args.buf] = write
  failed_writes().on_write(args)
  append(inboxes, 'begin', path, before.stamp, UNREAD, UNREAD)
  local function note_failure()
    begun[args.buf] = nil
    append(other_inboxes(), 'failed', path, before.stamp, UNREAD, UNREAD)
  end
  vim.api.nvim_create_autocmd({ 'BufWritePost', 'FileWritePost', 'FileAppendPost' }, {
    buffer = args.buf,
    once = true,
    callback = function(ended)
      if begun[args.buf] ~= write then return end
      if failed_writes().has_failed(ended) then return note_failure() end
      begun[args.buf] = nil
      M.note(path, write.before)
    end,
  })
  vim.api.nvim_create_autocmd('SafeState', {
    once = true,
    callback = function()
      if begun[args.buf] == write then note_failure() end
    end,
  })
end

--- Read the file again when changes on disk were merged into a buffer before its write.
---@param bufnr integer
function M.on_merged(bufnr)
  local write = begun[bufnr]
  if write then write.before = read(write.path) end
end

--- Handle the end of a write whose start was not noted, or that was noted as failed while Neovim
--- asked whether to overwrite the file.
---@param args { buf: integer, match: string }
function M.on_written(args)
  if begun[args.buf] or is_held(args.buf) then return end
  if other_inboxes()[1] and not failed_writes().has_failed(args) then
    M.note(uv.fs_realpath(args.match))
  end
end

return M
