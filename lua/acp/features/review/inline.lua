--- Pending hunks in the user's own buffers: marks and keys. Only the extmarks of a buffer are
--- changed and, while hunks are pending, its keys.
local M = {}

local api = vim.api
local draw = require('acp.features.review.draw')
local live, config = require('acp.buffers.loaded'), require('acp.config')

--- Number of hunks up to which all are drawn at once. Beyond it, those on the screen are drawn
--- first and the rest in time slices.
local AT_ONCE = 100

---@class acp.HunksMeta
---@field kind? 'modified'|'created'|'deleted'
---@field conflict? boolean
---@field note? string a change that the lines do not show, of line endings or the BOM
---@field partial? boolean whether hunks or removed lines are left out
---@field tick? integer 'changedtick' that the rows refer to, nil if no buffer was loaded

---@class acp.InlineFile
---@field path string absolute, real
---@field hunks acp.Hunk[]
---@field meta acp.HunksMeta
---@field bufnr? integer the buffer that shows it
---@field count? integer lines of the buffer when the rows were set
---@field entries acp.Entry[]
---@field cancel? fun() stops drawing the rest

local files = {} ---@type table<string, acp.InlineFile>
local by_buffer = {} ---@type table<integer, acp.InlineFile>
local notes_ns = api.nvim_create_namespace('acp.hunks.notes')

--- Return the visible rows of the buffer in each window, as `{first, last}`, inclusive.
local function visible_rows(bufnr)
  local function rows(win) return { vim.fn.line('w0', win) - 1, vim.fn.line('w$', win) - 1 } end
  return vim.tbl_map(rows, vim.fn.win_findbuf(bufnr))
end

--- Draw the hunks of these rows in full. It changes extmarks, so it must run between redraws.
local function refine(bufnr, from, to)
  local file = by_buffer[bufnr]
  if not file or not api.nvim_buf_is_loaded(bufnr) then return end
  local at = draw.positions(bufnr, from, to)
  for _, entry in ipairs(file.entries) do
    local place = entry.id and at[entry.id]
    if place then draw.refine(bufnr, entry, place) end
  end
end

--- Buffers whose marks only record positions, because the review or another tab page in diff mode
--- shows the changes. Virtual lines between the lines would break the alignment of the sides.
local in_review, in_diff = {}, {} ---@type table<integer, true>, table<integer, true>

---@param file acp.InlineFile
local function is_hidden(file)
  return in_review[file.bufnr] or in_diff[file.bufnr] or not config.get().review.inline
end

--- Return whether a window of the current tab page shows a buffer in diff mode.
---@return boolean
local function is_in_diff(bufnr)
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    if api.nvim_win_get_buf(win) == bufnr and vim.wo[win].diff then return true end
  end
  return false
end

---@param file acp.InlineFile
local function refine_visible(file)
  if not is_hidden(file) then
    for _, rows in ipairs(visible_rows(file.bufnr)) do
      refine(file.bufnr, rows[1], rows[2] + 1)
    end
  end
end

--- Return whether a hunk between these rows is not drawn in full yet.
---@param file acp.InlineFile
local function has_unrefined(file, from, to)
  for _, entry in ipairs(file.entries) do
    if entry.id and not entry.refined and entry.hunk.first <= to and entry.hunk.last >= from then
      return true
    end
  end
  return false
end

---@param file acp.InlineFile
---@param entries acp.Entry[] entries to draw
local function draw_in_slices(file, entries)
  local slices, bufnr = require('acp.base.slices'), file.bufnr
  file.cancel = slices.run(function()
    for _, entry in ipairs(entries) do
      if by_buffer[bufnr] ~= file then return end
      draw.draw(bufnr, entry)
      slices.check()
    end
    if by_buffer[bufnr] == file then refine_visible(file) end
  end)
end

--- Stop drawing the hunks that are not on the screen.
---@param file acp.InlineFile
local function stop_drawing(file)
  if file.cancel then file.cancel() end
  file.cancel = nil
end

---@param hunk acp.Hunk
local function on_screen(hunk, windows)
  for _, rows in ipairs(windows) do
    if hunk.first <= rows[2] + 1 and hunk.last >= rows[1] then return true end
  end
  return false
end

--- Split entries into those to draw now and later.
---@param entries acp.Entry[]
---@return acp.Entry[] now
---@return acp.Entry[] later
local function by_visibility(entries, bufnr)
  if #entries <= AT_ONCE then return entries, {} end
  local windows = visible_rows(bufnr)
  local now, later = {}, {}
  for _, entry in ipairs(entries) do
    table.insert(on_screen(entry.hunk, windows) and now or later, entry)
  end
  return now, later
end

---@param file acp.InlineFile
local function draw_note(file)
  api.nvim_buf_clear_namespace(file.bufnr, notes_ns, 0, -1)
  local text = file.meta.conflict and require('acp.base.messages').conflict or file.meta.note
  if text and not is_hidden(file) then
    local group = file.meta.conflict and 'AcpConflict' or 'AcpMuted'
    api.nvim_buf_set_extmark(file.bufnr, notes_ns, 0, 0, {
      virt_text = { { (' %s '):format(text), group } },
      virt_text_pos = 'right_align',
    })
  end
end

local function wipe(bufnr)
  for _, name in ipairs({ '', '.words', '.lines', '.notes' }) do
    api.nvim_buf_clear_namespace(bufnr, api.nvim_create_namespace('acp.hunks' .. name), 0, -1)
  end
end

---@param file acp.InlineFile
local function draw_file(file)
  local bufnr = file.bufnr --[[@as integer]]
  stop_drawing(file)
  file.count = api.nvim_buf_line_count(bufnr)
  file.entries = draw.match_entries(bufnr, file.entries, file.hunks, is_hidden(file))
  local missing = vim.tbl_filter(function(entry) return not entry.id end, file.entries)
  local now, later = by_visibility(missing, bufnr)
  for _, entry in ipairs(now) do
    draw.draw(bufnr, entry)
  end
  refine_visible(file)
  draw_note(file)
  require('acp.features.review.top').reveal(bufnr)
  if later[1] then draw_in_slices(file, later) end
end

--- Remove a file's marks and keys from its buffer.
---@param file acp.InlineFile
local function detach(file)
  local bufnr = file.bufnr
  stop_drawing(file)
  file.bufnr, file.entries = nil, {}
  if not bufnr then return end
  by_buffer[bufnr] = nil
  if api.nvim_buf_is_loaded(bufnr) then
    wipe(bufnr)
    require('acp.ui.keymaps').detach('edits', bufnr)
  end
end

--- Show a file's hunks in its buffer.
---@param file acp.InlineFile
local function show(file, bufnr)
  if file.bufnr ~= bufnr then
    detach(file)
    file.bufnr, by_buffer[bufnr] = bufnr, file
    in_diff[bufnr] = is_in_diff(bufnr) or nil
    wipe(bufnr) -- `:edit` unloads a buffer but keeps its extmarks
    require('acp.ui.keymaps').attach_over('edits', bufnr)
  end
  draw_file(file)
end

local function clear(path)
  local file = files[path]
  if file then
    files[path] = nil
    detach(file)
  end
end

--- Show the hunks of a file in a buffer that has read it, for the first time or again. Reading it
--- again deletes the marks.
---@param args { buf: integer, match: string, event: string }
local function on_read(args)
  local name = api.nvim_buf_get_name(args.buf)
  local file = name ~= '' and files[vim.uv.fs_realpath(name) or name]
  if not file or vim.bo[args.buf].buftype ~= '' then return end
  if file.bufnr and file.bufnr ~= args.buf and api.nvim_buf_is_loaded(file.bufnr) then return end
  local is_shown = file.bufnr == args.buf
  if is_shown and (args.event == 'BufWinEnter' or #file.entries == 0 and #file.hunks == 0) then
    return
  end
  local last = file.hunks[#file.hunks]
  local count = api.nvim_buf_line_count(args.buf)
  if (is_shown and file.count ~= count) or (last and last.last > count) then return end
  show(file, args.buf)
end

---@param args { buf: integer }
local function on_unload(args)
  local file = by_buffer[args.buf]
  if file then
    by_buffer[args.buf] = nil
    file.bufnr, file.entries, file.count = nil, {}, nil
  end
end

local function on_win(_, _, bufnr, top, bottom)
  local file = by_buffer[bufnr]
  if file and not is_hidden(file) and has_unrefined(file, top, bottom) then
    vim.schedule(function() refine(bufnr, top, bottom) end)
  end
end

local function on_resized()
  for bufnr, file in pairs(by_buffer) do
    local at = draw.positions(bufnr)
    for _, entry in ipairs(file.entries) do
      if entry.id and at[entry.id] then draw.fit_title(bufnr, entry, at[entry.id]) end
    end
  end
end

--- Hide a buffer's hunks, or show them again.
---@param why table<integer, true> one of the sets of hidden buffers
---@param hidden boolean
local function set_hidden(why, bufnr, hidden)
  local file = by_buffer[bufnr]
  if (why[bufnr] or false) == hidden then return end
  why[bufnr] = hidden or nil
  if file and api.nvim_buf_is_loaded(bufnr) then
    local at = draw.positions(bufnr)
    for _, entry in ipairs(file.entries) do
      if entry.id and at[entry.id] then
        draw.toggle(bufnr, entry, at[entry.id], is_hidden(file))
      else
        entry.hidden = is_hidden(file)
      end
    end
    refine_visible(file)
    draw_note(file)
  end
end

local function on_diff()
  for bufnr in pairs(by_buffer) do
    set_hidden(in_diff, bufnr, is_in_diff(bufnr))
  end
end

local watch = require('acp.base.once')(function()
  require('acp.ui.highlights').define()
  require('acp.features.review.top').watch()
  local on = require('acp.base.autocmds').group('acp.features.review.inline')
  on({ 'BufReadPost', 'BufWinEnter' }, on_read)
  on('BufUnload', on_unload)
  on('WinResized', on_resized)
  on({ 'BufWinEnter', 'WinEnter', 'TabEnter' }, on_diff)
  on('OptionSet', on_diff, { pattern = 'diff' })
  api.nvim_set_decoration_provider(draw.ns, { on_win = on_win })
end)

--- Report the hunks to the review, which shows their base.
---@param hunks acp.Hunk[]
---@param partial? boolean
local function pass_on(path, bufnr, hunks, partial)
  local complete = not partial and hunks or nil
  if bufnr then require('acp.base.signals').emit('hunks_changed', path, bufnr, complete) end
end

--- Set all pending hunks of a file, show them in its buffer and report them to the review. An empty
--- list clears them. `path` is absolute and real.
---@param hunks acp.Hunk[]
---@param meta? acp.HunksMeta
function M.set(path, hunks, meta)
  meta = type(meta) == 'table' and meta or {} --[[@as acp.HunksMeta]]
  if #hunks == 0 and not meta.conflict and not meta.note then
    clear(path)
    pass_on(path, live.buffer(path), hunks)
    return
  end
  watch()
  local file = files[path] or { path = path, entries = {} }
  files[path] = file
  file.hunks, file.meta = hunks, meta
  local bufnr = live.buffer(path)
  local tick = meta.tick ~= vim.NIL and meta.tick or nil
  if bufnr and (not tick or tick == api.nvim_buf_get_changedtick(bufnr)) then
    show(file, bufnr)
    pass_on(path, tick and not meta.conflict and bufnr or nil, hunks, meta.partial)
  end
end

--- Hide a buffer's hunks while the review shows it, or show them again.
---@param hidden boolean
function M.hide(bufnr, hidden) set_hidden(in_review, bufnr, hidden) end

--- Redraw all marks after a change to options.
function M.redraw()
  for _, file in pairs(by_buffer) do
    wipe(file.bufnr)
    file.entries = {}
    draw_file(file)
  end
end

--- Return the sorted paths of files with pending hunks, except deleted files.
---@return string[]
function M.paths()
  local paths = {}
  for path, file in pairs(files) do
    paths[path] = #file.hunks > 0 and file.meta.kind ~= 'deleted' or nil
  end
  for _, edit in ipairs(require('acp.base.state').edits()) do
    if edit.kind ~= 'deleted' and (edit.hunks > 0 or edit.conflict or edit.note) then
      paths[edit.path] = true
    end
  end
  return require('acp.base.sorted_keys')(paths)
end

--- Return the file whose hunks a buffer shows.
---@return string|nil path
function M.path(bufnr) return by_buffer[bufnr] and by_buffer[bufnr].path end

--- Return the first rows of a buffer's hunks, 0-based and ascending.
---@return integer[]
function M.rows(bufnr)
  local rows, last = {}, -1
  for _, mark in ipairs(api.nvim_buf_get_extmarks(bufnr, draw.ns, 0, -1, {})) do
    if mark[2] ~= last then
      last = mark[2]
      rows[#rows + 1] = last
    end
  end
  return rows
end

return M
