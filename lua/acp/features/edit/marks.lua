--- Marks of inline edits that have not ended: a sign at each line, and agent and instruction at the
--- end of the first line.
local M = {}

local api = vim.api
local ranges = require('acp.features.edit.ranges')
local ns = api.nvim_create_namespace('acp.edit')

local SIGN = '┃'
local PRIORITY = 210 -- above the signs of pending hunks
local WIDTH, MIN_WIDTH = 60, 10 -- cells of the instruction

---@class acp.InlineEdit
---@field bufnr integer
---@field range acp.LineRange
---@field whole boolean whether it is about the whole file
---@field instruction? string nil while the user is writing it
---@field mark? integer
---@field drawn? any[] rows and text of the mark
---@field session? integer
---@field begun? boolean whether the agent has the prompt

local edits = {} ---@type table<integer, acp.InlineEdit>
local last_id = 0

---@param edit acp.InlineEdit
---@return acp.Session|table
local function session_of(edit)
  return require('acp.base.state').get().sessions[edit.session or -1] or {}
end

--- Return the state of an edit in words, or nil while the agent is working.
---@param edit acp.InlineEdit
---@return string|nil
local function state_of(edit)
  local session = session_of(edit)
  if require('acp.ui.activity').is_waiting(session) then return 'waiting for you' end
  if edit.begun then return session.status == 'cancelling' and 'cancelling' or nil end
  return session.status == 'running' and 'queued' or 'starting'
end

--- Return the text of a mark.
---@param edit acp.InlineEdit
---@param room number cells
---@return string
local function label(edit, room)
  local notify, text_width = require('acp.base.notify'), require('acp.base.text.width')
  local name = session_of(edit).agent or require('acp.base.valid_names').agent()
  local before, state = require('acp.ui.activity').agent(name) .. ': ', state_of(edit)
  local after = state and '… · ' .. state or '…'
  local width = math.min(room - text_width(before .. after), WIDTH)
  local words = notify.cut(notify.one_line(edit.instruction), math.max(width, MIN_WIDTH))
  return before .. words:gsub('…$', '') .. after
end

--- Draw a mark at its current lines, if anything has changed.
---@param edit acp.InlineEdit
local function draw(edit)
  local first, last = ranges.rows(edit.range)
  if not first or not edit.instruction then return end
  local count = api.nvim_buf_line_count(edit.bufnr)
  first = math.min(first, count - 1)
  local end_row = math.max(math.min(last, count) - 1, first)
  local text = label(edit, require('acp.ui.win').room_beside(edit.bufnr, first) - 2)
  if vim.deep_equal(edit.drawn, { first, end_row, text }) then return end
  edit.drawn = { first, end_row, text }
  edit.mark = api.nvim_buf_set_extmark(edit.bufnr, ns, first, 0, {
    id = edit.mark,
    end_row = end_row,
    end_col = 0,
    sign_text = SIGN,
    sign_hl_group = 'AcpEdit',
    virt_text = { { '  ' .. text, 'AcpEdit' } },
    hl_mode = 'combine',
    priority = PRIORITY,
  })
end

local function draw_all()
  for _, edit in pairs(edits) do
    draw(edit)
  end
end

--- Draw all marks as soon as Neovim allows it.
local draw_soon = require('acp.base.schedule_once')(draw_all)

--- Draw the marks of a buffer that has changed. Their extmarks may have left the lines.
local function redraw(bufnr)
  for _, edit in pairs(edits) do
    if edit.bufnr == bufnr then edit.drawn = nil end
  end
  draw_soon()
end

--- Show the marks of a buffer that was read again.
local function on_read(args)
  ranges.on_read(args.buf, function() redraw(args.buf) end)
  redraw(args.buf)
end

local function forget(bufnr)
  for id, edit in pairs(edits) do
    if edit.bufnr == bufnr then M.remove(id) end
  end
end

--- Follow the state of the edits as long as there are any.
local function watch()
  local on = require('acp.base.autocmds').group('acp.edit')
  on('BufReadPost', on_read)
  on('User', draw_all, { pattern = 'AcpState' })
  on('WinResized', draw_all)
  on('BufWipeout', function(args) forget(args.buf) end)
end

--- Create an edit of some lines. Its mark is shown by `show`.
---@param first integer|nil 1-based; nil for the whole file
---@param last integer|nil inclusive
---@return integer id
function M.create(bufnr, first, last)
  if next(edits) == nil then watch() end
  local whole, count = first == nil, api.nvim_buf_line_count(bufnr)
  local function on_change() redraw(bufnr) end
  local range = ranges.create(bufnr, (first or 1) - 1, math.min(last or count, count), on_change)
  last_id = last_id + 1
  edits[last_id] = { bufnr = bufnr, range = range, whole = whole }
  return last_id
end

--- Show the mark of an edit.
---@param id integer
---@param instruction string
function M.show(id, instruction)
  require('acp.ui.highlights').define()
  edits[id].instruction = instruction
  draw(edits[id])
end

--- Return the lines of an edit as the verb `edit` takes them, or nil if they no longer exist.
---@param id integer
---@return { path: string, text: string, first?: integer, last?: integer }|nil
function M.lines(id)
  local edit = edits[id]
  local first, last = nil, 0
  if edit then
    first, last = ranges.rows(edit.range)
  end
  if not first then return nil end
  local range = require('acp.base.places').range(edit.bufnr, first + 1, math.max(last, first + 1))
  if edit.whole then return { path = range.path, text = range.text } end
  return { path = range.path, text = range.text, first = range.first, last = range.last }
end

--- Return the name of an edit's lines, for the user.
---@param id integer
---@return string such as `a.py:3-5`
function M.place(id)
  local lines = M.lines(id) or {}
  if not lines.first then return require('acp.base.paths').display(lines.path or '') end
  return require('acp.base.places').label(lines --[[@as acp.Range]])
end

--- Frame operation: set the session of an edit, and whether the agent has its prompt.
---@param id integer
---@param session integer
---@param begun boolean
function M.set_state(id, session, begun)
  local edit = edits[id]
  if not edit then return end
  edit.session, edit.begun = session, begun
  draw(edit)
end

--- Return the newest edit whose lines the cursor is on.
---@return integer|nil id
function M.at_cursor()
  local bufnr, row = api.nvim_get_current_buf(), api.nvim_win_get_cursor(0)[1] - 1
  local newest ---@type integer|nil
  for id, edit in pairs(edits) do
    local first, last = ranges.rows(edit.range)
    local is_in = first and row >= first and (row < last or row == first)
    local is_here = edit.bufnr == bufnr and edit.instruction and (edit.whole or is_in)
    if is_here and id > (newest or 0) then newest = id end
  end
  return newest
end

--- Frame operation: remove the mark of an edit that has ended.
---@param id integer
function M.remove(id)
  local edit = edits[id]
  if not edit then return end
  edits[id] = nil
  ranges.delete(edit.range)
  if edit.mark and api.nvim_buf_is_valid(edit.bufnr) then
    api.nvim_buf_del_extmark(edit.bufnr, ns, edit.mark)
  end
  if next(edits) == nil then require('acp.base.autocmds').group('acp.edit') end
end

--- Remove the marks of all edits that were sent, because the host has ended.
function M.clear()
  for id, edit in pairs(edits) do
    if edit.instruction then M.remove(id) end
  end
end

return M
