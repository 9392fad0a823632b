--- Detection of failed writes. Neovim fires |BufWritePost| after these too, for example after a
--- write that the user has declined because the file has changed.
local M = {}

local file_stamp = require('acp.base.host.file_stamp')
local handlers = require('acp.buffers.save_handlers')
local saves_of = require('acp.buffers.silent_saves').count

---@class acp.BegunWrite
---@field match string path to write
---@field saves integer number of writes of the buffer before this one
---@field stamp? string the file's stamp before the write

local begun = {} ---@type table<integer, acp.BegunWrite> last write of each buffer

--- Record the start of a write.
---@param args { buf: integer, match: string } of its autocommand
function M.on_write(args)
  local stamp = file_stamp.of_path(args.match)
  begun[args.buf] = { match = args.match, saves = saves_of(args.buf), stamp = stamp }
end

local on = require('acp.base.autocmds').group('acp.failed_writes')
on({ 'BufWritePre', 'FileWritePre', 'FileAppendPre' }, M.on_write)
on('BufWipeout', function(args) begun[args.buf] = nil end)

--- Return whether the write that has just ended has failed.
---@param args { buf: integer, match: string } of its autocommand
---@return boolean
function M.has_failed(args)
  local write = begun[args.buf]
  local is_known = write and write.match == args.match
  if not is_known or handlers.any(args.buf, 'BufWriteCmd') then return false end
  local stamp, is_fresh = file_stamp.of_path(args.match)
  local is_unchanged = stamp == write.stamp and not is_fresh
  if args.event == 'BufWritePost' and args.match == vim.api.nvim_buf_get_name(args.buf) then
    local is_counted = saves_of(args.buf) > write.saves
    return not is_counted and (is_unchanged or handlers.is_encodable(args.buf))
  end
  return is_unchanged
end

return M
