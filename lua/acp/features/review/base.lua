--- The left side of the review: the text as last accepted, in a writable buffer. A change there
--- accepts text, so it is sent to the host.
local M = {}

local api = vim.api
local diff = require('acp.base.compat').diff

--- Longest wait for the host to confirm a change. Until then, a text from the host may be older
--- than the change.
local CONFIRM_MS = 1500

---@class acp.Base
---@field path string
---@field bufnr integer
---@field eol boolean
---@field known string[] lines that the host knows
---@field sent? string[] lines sent to the host and not confirmed yet
---@field held? { lines: string[], eol: boolean } a text from the host that came before that
---@field applying? boolean
---@field scheduled? boolean

local bases = {} ---@type table<integer, acp.Base> by buffer

local function lines_of(bufnr) return api.nvim_buf_get_lines(bufnr, 0, -1, false) end

---@param base acp.Base
local function on_confirmed(base)
  local held = base.held
  base.sent, base.held = nil, nil
  if held then M.put(base, held.lines, held.eol) end
end

--- Send the text of the buffer to the host, if it has changed.
function M.flush(bufnr)
  local base = bases[bufnr]
  if not base or not api.nvim_buf_is_loaded(bufnr) then return end
  local lines = lines_of(bufnr)
  vim.bo[bufnr].modified = false
  if vim.deep_equal(lines, base.known) then return end
  base.known, base.sent, base.held = lines, lines, nil
  local args = { path = base.path, lines = lines, eol = base.eol }
  require('acp.base.host').notify('base_written', args)
  vim.defer_fn(function()
    if base.sent == lines then on_confirmed(base) end
  end, CONFIRM_MS)
end

--- Return whether the user is typing in the buffer.
---@param base acp.Base
local function is_typing(base)
  return api.nvim_get_current_buf() == base.bufnr and api.nvim_get_mode().mode:match('^[iR]') ~= nil
end

--- Send a change made by a command, `do` or `dp` at once. Typed text is sent when the user leaves
--- Insert mode.
---@param base acp.Base
local function send_change(base)
  if base.applying or base.scheduled then return end
  base.scheduled = true
  vim.schedule(function()
    base.scheduled = false
    if not is_typing(base) then M.flush(base.bufnr) end
  end)
end

---@param base acp.Base
local function watch(base)
  local bufnr = base.bufnr
  api.nvim_buf_attach(bufnr, false, {
    on_lines = function()
      if not bases[bufnr] then return true end
      send_change(base)
    end,
  })
  local on = require('acp.base.autocmds').in_buffer
  on(bufnr, { 'InsertLeave', 'BufLeave' }, function() M.flush(bufnr) end)
  require('acp.ui.scratch').on_write(bufnr, function() M.flush(bufnr) end)
  on(bufnr, 'BufWipeout', function() bases[bufnr] = nil end)
  -- Language servers cannot handle a name with a scheme and without a file.
  on(bufnr, 'LspAttach', function(args)
    vim.schedule(function()
      if api.nvim_buf_is_loaded(bufnr) then
        vim.lsp.buf_detach_client(bufnr, args.data.client_id)
      end
    end)
  end)
end

--- Replace the differing parts of a buffer's text, so that marks and views in the rest are
--- preserved.
local function replace(bufnr, lines)
  local old = table.concat(lines_of(bufnr), '\n') .. '\n'
  local hunks = diff(old, table.concat(lines, '\n') .. '\n', { result_type = 'indices' })
  for i = #hunks, 1, -1 do
    local a, count, b, new_count = unpack(hunks[i] --[[@as integer[] ]])
    local first = count == 0 and a or a - 1
    local new = vim.list_slice(lines, b, b + new_count - 1)
    api.nvim_buf_set_lines(bufnr, first, first + count, false, new_count > 0 and new or {})
  end
end

--- Put the host's text into the buffer.
---@param base acp.Base
---@param eol boolean
function M.put(base, lines, eol)
  lines = #lines > 0 and lines or { '' }
  base.applying = true
  replace(base.bufnr, lines)
  base.applying = false
  base.known, base.eol = lines_of(base.bufnr), eol
  vim.bo[base.bufnr].modified = false
end

---@return acp.Base|nil
local function base_of(path)
  for bufnr, base in pairs(bases) do
    if base.path == path and api.nvim_buf_is_loaded(bufnr) then return base end
  end
end

--- Update the base of a file from the host.
---@param eol boolean
function M.set(path, lines, eol)
  local base = base_of(path)
  if not base then return end
  if base.scheduled and not is_typing(base) then
    M.flush(base.bufnr) -- newer than the host's text
  end
  if not base.sent then
    M.put(base, lines, eol)
  elseif vim.deep_equal(base.sent, #lines > 0 and lines or { '' }) then
    base.held = nil
    on_confirmed(base)
  else
    base.held = { lines = lines, eol = eol }
  end
end

--- Return the buffer of a file's base, creating it if needed.
---@param n integer session
---@param file acp.ReviewFile
---@return integer bufnr
function M.ensure(n, file, filetype)
  local known = base_of(file.path)
  if known then
    M.set(file.path, file.base, file.base_eol)
    return known.bufnr
  end
  local name = ('acp://base/%d//%s'):format(n, file.path)
  local bufnr = require('acp.ui.scratch').find(name) or api.nvim_create_buf(false, true)
  api.nvim_buf_set_name(bufnr, name)
  require('acp.ui.scratch').set_options(bufnr, {
    buftype = 'acwrite',
    bufhidden = 'hide',
    swapfile = false,
    modeline = false,
    fixendofline = false,
    endofline = file.base_eol,
  })
  api.nvim_buf_set_lines(bufnr, 0, -1, false, file.base)
  vim.bo[bufnr].modified = false
  local base = { path = file.path, bufnr = bufnr, eol = file.base_eol, known = lines_of(bufnr) }
  bases[bufnr] = base
  watch(base)
  require('acp.ui.scratch').set_filetype(bufnr, filetype)
  require('acp.ui.keymaps').attach('review', bufnr) -- after the keys of filetype plugins
  return bufnr
end

--- Send outstanding changes and delete all base buffers.
function M.wipe()
  for bufnr in pairs(bases) do
    M.flush(bufnr)
    bases[bufnr] = nil
    if api.nvim_buf_is_valid(bufnr) then api.nvim_buf_delete(bufnr, { force = true }) end
  end
end

return M
