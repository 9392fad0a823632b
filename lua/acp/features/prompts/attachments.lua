--- Files, images and lines attached to the next prompt (`:Acp attach`), by composer, and opening of
--- files that an agent has sent.
local M = {}

local pending = {} ---@type table<integer, string[]> absolute paths
local chips = {} ---@type table<integer, acp.Chip[]>

---@return string
function M.label(path) return require('acp.base.paths').display(path) end

local function on_changed(n)
  require('acp.base.signals').emit('attached', n)
  require('acp.base.signals').emit('draft_changed')
end

--- Return the composers with attachments.
---@return integer[]
function M.composers() return vim.tbl_keys(vim.tbl_extend('keep', pending, chips)) end

--- Return the attachments of composer `n`.
---@return string[] paths
function M.list(n) return vim.list_slice(pending[n] or {}) end

--- Return the attached ranges of composer `n`.
---@return acp.Chip[]
function M.chips(n) return vim.list_slice(chips[n] or {}) end

--- Append paths to a list, each once.
---@param paths string[] changed in place
---@param further string[]
---@return string[] paths
function M.append_new(paths, further)
  for _, path in ipairs(further) do
    if not vim.tbl_contains(paths, path) then paths[#paths + 1] = path end
  end
  return paths
end

--- Attach files and ranges without a message, as when a prompt returns to its composer.
---@param paths string[] absolute
---@param ranges? acp.Chip[]
function M.restore(n, paths, ranges)
  if paths[1] then pending[n] = M.append_new(M.list(n), paths) end
  if ranges and ranges[1] then chips[n] = vim.list_extend(M.chips(n), ranges) end
  on_changed(n)
end

--- Attach files, each once, and ranges to the next prompt, and show a message. Also a frame
--- operation, for the image of the clipboard.
---@param n integer|nil composer; that of the current session by default
---@param paths string[] absolute
---@param ranges? acp.Chip[]
function M.add(n, paths, ranges)
  M.restore(n or require('acp.base.state').default_session(), paths, ranges)
  local names = vim.tbl_map(M.label, paths)
  vim.list_extend(names, require('acp.features.prompts.chips').labels(ranges or {}))
  require('acp.base.notify').show('info', 'attached', table.concat(names, ', '))
end

function M.clear(n)
  if not pending[n] and not chips[n] then return end
  pending[n], chips[n] = nil, nil
  on_changed(n)
end

--- Let the user choose an attachment to remove.
function M.manage()
  local n = require('acp.base.state').default_session()
  local paths, ranges = M.list(n), M.chips(n)
  local labels = vim.list_extend(
    vim.tbl_map(M.label, paths),
    require('acp.features.prompts.chips').labels(ranges)
  )
  if #labels == 0 then return require('acp.base.notify').show('error', 'attach_needs_file') end
  local messages = require('acp.base.messages')
  require('acp.ui.pick').choose(
    messages.attach_remove,
    'attach',
    vim.list_extend({ messages.attach_all }, labels),
    function(index)
      if index == 1 then return M.clear(n) end
      local at = index - 1
      if at > #paths then
        table.remove(ranges, at - #paths)
      else
        table.remove(paths, at)
      end
      pending[n], chips[n] = paths, ranges
      on_changed(n)
    end
  )
end

--- Ask the host to attach the image of the clipboard.
function M.from_clipboard()
  local n = require('acp.base.state').default_session()
  require('acp.base.host').notify('attach', { clipboard = true, composer = n })
end

--- Return the text of a file's buffer if it has unsaved changes.
---@param path string absolute
local function unsaved_text(path)
  local bufnr = require('acp.buffers.loaded').buffer(path)
  if not bufnr or not vim.bo[bufnr].modified then return nil end
  local text = table.concat(vim.api.nvim_buf_get_lines(bufnr, 0, -1, false), '\n')
  return text .. (vim.bo[bufnr].endofline and '\n' or '')
end

--- Return files as the verb `prompt` takes them: the path, with the text if a buffer has unsaved
--- changes.
---@param paths string[] absolute
---@return (string|{ path: string, text: string })[]
function M.with_unsaved_text(paths)
  return vim.tbl_map(function(path)
    local text = unsaved_text(path)
    return text and { path = path, text = text } or path
  end, paths)
end

--- Frame operation: open a file with |vim.ui.open()|.
function M.open(path)
  local _, why = vim.ui.open(path)
  if why then require('acp.base.notify').show('warn', 'file_not_opened', why, path) end
end

return M
