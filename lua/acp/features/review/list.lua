--- Lists of pending edits: hunks in the quickfix list, and files below the review.
local M = {}

local api = vim.api
local ns = api.nvim_create_namespace('acp.features.review.list')

--- Put pending hunks into the quickfix list and open it without moving the focus.
---@param items { filename: string, lnum: integer, text: string }[]
---@param title string
function M.quickfix(items, title)
  local paths = require('acp.base.paths')
  for _, item in ipairs(items) do
    local label = paths.label(item.filename)
    if label ~= paths.display(item.filename) then item.module = label end
  end
  -- Replace the current list if it is the plugin's own; other lists stay in the history.
  local is_own = vim.fn.getqflist({ title = 0 }).title == title
  vim.fn.setqflist({}, is_own and 'r' or ' ', { items = items, title = title })
  if #items == 0 then return require('acp.base.notify').show('info', 'no_edits') end
  require('acp.ui.window').when_free(function()
    local win = api.nvim_get_current_win()
    vim.cmd(('botright copen %d'):format(math.min(#items, 10)))
    if api.nvim_win_is_valid(win) then api.nvim_set_current_win(win) end
  end)
end

local signs = { created = 'A', deleted = 'D', modified = 'M' }

---@param file acp.ReviewFile
---@return string line
---@return acp.Span[] spans
local function line_of(file, current)
  local sides = require('acp.features.review.sides')
  local path = require('acp.base.paths').label(file.path)
  local count = file.hunks == 1 and '1 hunk' or ('%d hunks'):format(file.hunks)
  local tail = file.hunks > 0 and not file.label and '  ' .. count or ''
  local head = ('%s %s '):format(current and '▸' or ' ', signs[file.kind] or 'M')
  local notify, titles = require('acp.base.notify'), table.concat(file.instructions or {}, ' · ')
  tail = titles ~= '' and ('%s  %s'):format(tail, notify.one_line(titles)) or tail
  local line = ('%s%s  %s%s'):format(head, path, sides.counts(file), tail)
  local group = file.conflict and 'AcpConflict'
    or not sides.is_undecided(file) and 'AcpMuted'
    or 'AcpPath'
  local at = #head + #path
  return line, { { 0, #head, at, group }, { 0, at, #line, 'AcpMuted' } }
end

--- Draw the list of the review's files.
---@param files acp.ReviewFile[]
---@param current integer
function M.draw(bufnr, files, current)
  local lines, spans = {}, {}
  for i, file in ipairs(files) do
    local line, marks = line_of(file, i == current)
    lines[i] = line
    for _, span in ipairs(marks) do
      span[1] = i - 1
      spans[#spans + 1] = span
    end
  end
  require('acp.ui.scratch').fill(bufnr, lines, spans, ns)
end

--- Return the buffer of the list of files.
---@return integer bufnr
function M.buffer()
  local bufnr, created = require('acp.ui.scratch').ensure('acp://review', 'acpreview')
  if created then require('acp.ui.keymaps').attach('review_files', bufnr) end
  return bufnr
end

return M
