--- `:[range]Acp edit[!] [instruction]`: an agent changes these lines in place.
local M = {}

local api = vim.api
local marks, messages = require('acp.features.edit.marks'), require('acp.base.messages')

---@class acp.EditLines
---@field bufnr integer
---@field first? integer 1-based; nil for the whole file
---@field last? integer inclusive

--- Return why a buffer cannot be edited in place, nil if it can.
---@return string|nil message
local function obstacle(bufnr)
  local path, bo = require('acp.base.places').path(bufnr), vim.bo[bufnr]
  if path == '' then
    local is_new = bo.buftype == '' and api.nvim_buf_get_name(bufnr) == ''
    return is_new and messages.edit_needs_name or messages.edit_needs_file
  end
  local is_folder = (vim.uv.fs_stat(path) or {}).type == 'directory'
  if is_folder or not bo.modifiable then return messages.edit_needs_file end
end

--- Send an edit of the lines that its mark covers now to the host.
---@param id integer
---@param instruction string
---@param here boolean whether to send it in the current session
local function send(id, instruction, here)
  local lines = marks.lines(id)
  if not lines then return marks.remove(id) end -- the buffer has been unloaded since
  marks.show(id, instruction)
  local args = require('acp.base.signals').emit('prompt_context', instruction)
  args.id, args.edit, args.here = id, lines, here or nil
  if args.cwd == '' and not require('acp.base.places').cwd_or_error() then
    return marks.remove(id)
  end
  if not require('acp.base.host').notify('edit', args) then marks.remove(id) end
end

--- `:Acp edit`. Without an instruction, ask for one.
---@param opts table arguments of a user command, plus `rest`
function M.command(opts)
  local bufnr = api.nvim_get_current_buf()
  local message = obstacle(bufnr)
  if message then return require('acp.base.notify').error(message) end
  local range = opts.range > 0 and { first = opts.line1, last = opts.line2 } or {}
  local id = marks.create(bufnr, range.first, range.last)
  local instruction = vim.trim(opts.rest or '')
  if instruction ~= '' then return send(id, instruction, opts.bang) end
  vim.ui.input({ prompt = messages.ask_instruction:format(marks.place(id)) }, function(text)
    if not text or vim.trim(text) == '' then return marks.remove(id) end
    send(id, vim.trim(text), opts.bang)
  end)
end

--- Cancel the edit at the cursor. Return whether there is one.
---@return boolean|nil
function M.cancel_here()
  local id = marks.at_cursor()
  if not id then return nil end
  require('acp.base.host').notify('cancel_edit', { id = id })
  return true
end

return M
