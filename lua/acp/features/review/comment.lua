--- Remarks on hunks, shown at their lines until they are sent to the agent with the next prompt.
--- They are stored here, so they survive a restart of the host, and in drafts for the next Neovim
--- (`acp.features.prompts.drafts`).
local M = {}

local api = vim.api
local ns = api.nvim_create_namespace('acp.comments')
local loaded = require('acp.buffers.loaded').buffer
local text_width = require('acp.base.text.width')

---@class acp.Remark arguments of the verb `comment`
---@field id integer
---@field path string
---@field line integer
---@field text string
---@field context string text of the line
---@field first? integer lines of the hunk according to the host (1-based, inclusive)
---@field last? integer
---@field lines? string[]

---@class acp.Note a paragraph to send with the next prompt of a session
---@field n integer
---@field text string

---@class acp.UnsentRemark
---@field remark acp.Remark
---@field cwd string directory for its draft
---@field bufnr? integer buffer of its mark, nil while its file is not open
---@field mark? integer

local waiting = {} ---@type acp.UnsentRemark[]
local notes = {} ---@type acp.Note[]
local last_id = 0

--- Return the buffer and row of a remark: in the live text, even if the remark was made on the
--- other side of the review.
---@param here { path: string, line: integer, bufnr: integer }
---@return integer bufnr
---@return integer row
local function position_of(here)
  local bufnr = loaded(here.path) or here.bufnr
  return bufnr, math.min(here.line, api.nvim_buf_line_count(bufnr)) - 1
end

--- Return the words of a text in lines of at most `width` cells.
---@param text string
---@return string[]
local function wrap_words(text, width)
  local lines = {}
  for word in text:gmatch('%S+') do
    local longer = lines[1] and lines[#lines] .. ' ' .. word
    if longer and text_width(longer) <= width then
      lines[#lines] = longer
    else
      lines[#lines + 1] = lines[1] and '  ' .. word or word
    end
  end
  return lines
end

--- Return the extmark options of a remark, which is shown at the end of its line, or below the line
--- if the window is too narrow.
---@param text string
---@return vim.api.keyset.set_extmark
local function mark_options(text, bufnr, row)
  local win = vim.fn.win_findbuf(bufnr)[1]
  local width = win and require('acp.ui.win').text_columns(win) or vim.o.columns
  local line = api.nvim_buf_get_lines(bufnr, row, row + 1, false)[1] or ''
  text = '» ' .. require('acp.base.notify').one_line(text)
  if text_width(line) + 1 + text_width(text) <= width then
    return { virt_text = { { text, 'AcpComment' } }, virt_text_pos = 'eol' }
  end
  local function chunks(part) return { { part, 'AcpComment' } } end
  return { virt_lines = vim.tbl_map(chunks, wrap_words(text, width)) }
end

---@param comment acp.UnsentRemark
local function show(comment, bufnr, row)
  require('acp.ui.highlights').define()
  local opts = mark_options(comment.remark.text, bufnr, row)
  opts.invalidate, opts.undo_restore = true, false
  comment.bufnr, comment.mark = bufnr, api.nvim_buf_set_extmark(bufnr, ns, row, 0, opts)
end

---@param here { path: string, line: integer, bufnr: integer }
---@param text string
local function add_at(here, text)
  local bufnr, row = position_of(here)
  local context = api.nvim_buf_get_lines(bufnr, row, row + 1, false)[1]
  last_id = last_id + 1
  local remark = vim.tbl_extend('force', here, { id = last_id, text = text, context = context })
  if not require('acp.base.host').notify('comment', remark) then return end
  local comment = { remark = remark, cwd = require('acp.base.places').cwd() }
  show(comment, bufnr, row)
  waiting[#waiting + 1] = comment
  require('acp.base.signals').emit('unsent_changed')
end

--- Add a remark on the hunk under the cursor, or on the line if there is no hunk. Ask for a text
--- that is empty.
---@param text string
function M.add(text)
  local here, messages = require('acp.features.review.hunk').here(), require('acp.base.messages')
  if here.path == '' then return require('acp.base.notify').show('error', 'no_file') end
  if text:match('%S') then return add_at(here, text) end
  local line = require('acp.base.paths').display(here.path) .. ':' .. here.line
  vim.ui.input({ prompt = messages.ask_comment:format(line) }, function(answer)
    if answer and answer:match('%S') then add_at(here, answer) end
  end)
end

--- Frame operation: set the lines that a remark refers to. They do not follow later edits.
---@param id integer
function M.set_lines(id, first, last, lines)
  for _, comment in ipairs(waiting) do
    if comment.remark.id == id then
      comment.remark.first, comment.remark.last, comment.remark.lines = first, last, lines
      require('acp.base.signals').emit('unsent_changed')
    end
  end
end

--- Frame operation: store a paragraph for the next prompt of session `n`.
function M.add_note(n, text) notes[#notes + 1] = { n = n, text = text } end

--- Frame operation: remove remarks and all notes that were sent with a prompt of session `n`.
---@param ids integer[]
function M.on_remarks_sent(n, ids)
  notes = vim.tbl_filter(function(note) return note.n ~= n end, notes)
  waiting = vim.tbl_filter(function(comment)
    local is_sent = vim.tbl_contains(ids, comment.remark.id)
    if is_sent and comment.bufnr and api.nvim_buf_is_valid(comment.bufnr) then
      api.nvim_buf_del_extmark(comment.bufnr, ns, comment.mark)
    end
    return not is_sent
  end, waiting)
  require('acp.base.signals').emit('unsent_changed')
end

--- Return the remarks that have not been sent, oldest first.
---@return acp.Remark[]
function M.remarks()
  return vim.tbl_map(function(comment) return comment.remark end, waiting)
end

--- Return the remarks that have not been sent, by directory.
---@return table<string, acp.Remark[]>
function M.by_directory()
  local by_directory = {}
  for _, comment in ipairs(waiting) do
    by_directory[comment.cwd] = by_directory[comment.cwd] or {}
    table.insert(by_directory[comment.cwd], comment.remark)
  end
  return by_directory
end

--- Show remarks on files that have been opened since then.
local function show_missing()
  for _, comment in ipairs(waiting) do
    local bufnr = not comment.mark and loaded(comment.remark.path)
    if bufnr then
      show(comment, bufnr, math.min(comment.remark.line, api.nvim_buf_line_count(bufnr)) - 1)
    end
  end
end

local watch = require('acp.base.once')(function()
  local on = require('acp.base.autocmds').group('acp.comment')
  on('BufReadPost', vim.schedule_wrap(show_missing))
end)

--- Restore the remarks from an earlier Neovim.
---@param remarks acp.Remark[]
function M.restore(cwd, remarks)
  if #remarks == 0 then return end
  local host = require('acp.base.host')
  for _, remark in ipairs(remarks) do
    last_id = last_id + 1
    remark.id = last_id
    waiting[#waiting + 1] = { remark = remark, cwd = cwd }
    if host.channel() then -- a host that starts later receives all remarks
      host.notify('comment', remark)
    end
  end
  watch()
  show_missing()
end

--- Return the notes that have not been sent.
---@return acp.Note[]
function M.notes() return vim.list_slice(notes) end

return M
