--- The buffers on both sides of a file's review, and their titles.
local M = {}

local api = vim.api

---@class acp.ReviewFile
---@field path string absolute, real
---@field base string[] the text as last accepted
---@field base_eol boolean
---@field live? string[] the current text, if no buffer is loaded
---@field kind 'modified'|'created'|'deleted'
---@field hunks integer
---@field added integer
---@field removed integer
---@field conflict boolean
---@field note? string a change that the lines do not show
---@field theirs? string[] the agent's text on disk, if there is a conflict
---@field instructions? string[] those of the inline edits that made hunks
---@field pending boolean
---@field label? string shown instead of the counts

local scratch_buffers = {} ---@type table<integer, true>

---@return integer session the session that has the pending edit, 0 if unknown
local function session_of(path)
  local state = require('acp.base.state').get()
  for n, session in pairs(state.sessions) do
    for _, edit in ipairs(session.edits or {}) do
      if edit.path == path then return n end
    end
  end
  return state.current or 0
end

---@param file acp.ReviewFile
---@return string
function M.filetype(file)
  local bufnr = require('acp.buffers.loaded').buffer(file.path)
  local known = bufnr and vim.bo[bufnr].filetype or ''
  return known ~= '' and known
    or vim.filetype.match({ filename = file.path, contents = file.live or file.base })
    or ''
end

--- Close the review by `q`, like other windows without editable text, unless that key is mapped or
--- the user has removed the keys of the review.
local function close_by_q(bufnr)
  local keys = require('acp.ui.keymaps').list('review')
  local can_close = vim.iter(keys):any(function(key) return key.action == 'close' end)
  local mapping = api.nvim_buf_call(bufnr, function() return vim.fn.maparg('q', 'n') end)
  if not can_close or mapping ~= '' then return end
  local emit = require('acp.base.signals').emit
  local function close() emit('key_pressed', 'review', 'close', bufnr) end
  vim.keymap.set('n', 'q', close, { buffer = bufnr, desc = 'acp: close the review', nowait = true })
end

--- Return a scratch buffer with these lines.
---@param modifiable? boolean
---@return integer bufnr
function M.scratch(name, lines, filetype, modifiable)
  local scratch = require('acp.ui.scratch')
  local bufnr = scratch.find(name) or api.nvim_create_buf(false, true)
  api.nvim_buf_set_name(bufnr, name)
  scratch.set_options(bufnr, {
    buftype = modifiable and 'acwrite' or 'nofile',
    bufhidden = 'hide',
    swapfile = false,
    modeline = false,
    modifiable = true,
  })
  api.nvim_buf_set_lines(bufnr, 0, -1, false, lines)
  vim.bo[bufnr].modified = false
  vim.bo[bufnr].modifiable = modifiable or false
  if vim.bo[bufnr].filetype ~= filetype then scratch.set_filetype(bufnr, filetype) end
  if not scratch_buffers[bufnr] then
    require('acp.ui.keymaps').attach('review', bufnr)
    if not modifiable then
      close_by_q(bufnr)
      scratch.leave_insert(bufnr)
    end
  end
  scratch_buffers[bufnr] = true
  return bufnr
end

---@param file acp.ReviewFile
---@return integer bufnr
local function page(kind, file, lines)
  local name = ('acp://%s/%d//%s'):format(kind, session_of(file.path), file.path)
  return M.scratch(name, lines, M.filetype(file))
end

---@param file acp.ReviewFile
---@return integer bufnr
---@return string title
function M.left(file)
  if file.conflict and file.theirs then
    return page('theirs', file, file.theirs), "the agent's, on disk"
  elseif file.kind == 'deleted' then
    return page('was', file, file.base), 'base'
  end
  return require('acp.features.review.base').ensure(session_of(file.path), file, M.filetype(file)),
    'base'
end

---@param file acp.ReviewFile
---@return integer bufnr
---@return string title
function M.right(file)
  if file.kind == 'deleted' then return page('deleted', file, {}), 'deleted by the agent' end
  local why_not = require('acp.buffers.nofollow').why_not_shown(file.path)
  if why_not then return page('gone', file, {}), why_not end
  local bufnr = require('acp.buffers.loaded').buffer(file.path)
  if not bufnr then
    bufnr = require('acp.buffers.loaded').add(file.path)
    vim.bo[bufnr].buflisted = true
  end
  local title = file.conflict and 'yours, not saved' or file.kind == 'created' and 'new' or 'yours'
  return bufnr, title
end

--- Update the counts of a file.
---@param file acp.ReviewFile
function M.refresh(file)
  if file.label then return end
  local current = {} ---@type acp.Edit|table
  for _, edit in ipairs(require('acp.base.state').edits()) do
    current = edit.path == file.path and edit or current
  end
  file.pending = next(current) ~= nil
  file.hunks, file.added, file.removed =
    current.hunks or 0, current.added or 0, current.removed or 0
  file.conflict, file.note = current.conflict or false, current.note
  file.instructions = current.instructions
end

--- Return the paths with pending edits that are not among these files.
---@param files acp.ReviewFile[]
---@return string[]
function M.paths_not_among(files)
  local listed, others = {}, {}
  for _, file in ipairs(files) do
    listed[file.path] = true
  end
  for _, edit in ipairs(require('acp.base.state').edits()) do
    if not listed[edit.path] then
      listed[edit.path] = true
      others[#others + 1] = edit.path
    end
  end
  return others
end

--- Return whether the file has changes that the user has neither accepted nor rejected.
---@param file acp.ReviewFile
function M.is_undecided(file) return file.pending or file.label ~= nil end

--- Describe the changes to a file, such as `+3 -1` or `done`.
---@param file acp.ReviewFile
---@param brief? boolean without the note
---@return string
function M.counts(file, brief)
  if file.label then
    return file.label
  elseif file.conflict then
    return 'conflict'
  elseif not file.pending then
    return 'done'
  end
  local note = not brief and file.note and ', ' .. file.note or ''
  return ('+%d -%d'):format(file.added, file.removed) .. note
end

--- Delete the scratch buffers.
function M.wipe()
  for bufnr in pairs(scratch_buffers) do
    if api.nvim_buf_is_valid(bufnr) then api.nvim_buf_delete(bufnr, { force = true }) end
  end
  scratch_buffers = {}
end

return M
