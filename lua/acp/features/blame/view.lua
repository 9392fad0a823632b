--- Blame: the prompt that wrote the line under the cursor, shown at the end of that line. The host
--- sends the authors of a buffer's lines once; extmarks then follow the user's edits. A line whose
--- text has changed belongs to the user. An agent's write requests the authors again.
local M = {}

local api = vim.api
local lines_ns = api.nvim_create_namespace('acp.blame.lines')
local text_ns = api.nvim_create_namespace('acp.blame')

--- Delay before the authors of a buffer that has since changed are requested again.
local AGAIN_MS = 100
--- Id of the only extmark with text in a buffer.
local TEXT = 1
--- Longest excerpt of a prompt, in characters.
local WIDTH = 60

---@class acp.BlameAuthor
---@field id integer
---@field agent string
---@field sent number seconds since 1970
---@field prompt integer number in its session, 0 if unknown
---@field words string

---@class acp.BlamedBuffer
---@field path string absolute, real
---@field authors table<integer, acp.BlameAuthor>
---@field lines table<integer, { author: integer, text: string }> by mark
---@field answered? boolean the host has answered

local shown = {} ---@type table<integer, acp.BlamedBuffer>

---@param bufnr integer
local function ask(bufnr)
  if shown[bufnr] then require('acp.base.host').notify('blame', { path = shown[bufnr].path }) end
end

--- Return the author of a row if its text is still the one that the agent wrote.
---@param bufnr integer
---@param row integer 0-based
---@return acp.BlameAuthor|nil
local function author_at(bufnr, row)
  local file = shown[bufnr]
  local text = api.nvim_buf_get_lines(bufnr, row, row + 1, false)[1]
  for _, mark in ipairs(api.nvim_buf_get_extmarks(bufnr, lines_ns, { row, 0 }, { row, -1 }, {})) do
    local line = file.lines[mark[1]]
    if line and line.text == text then return file.authors[line.author] end
  end
end

--- Return how long ago a prompt was sent. A time in the future, as after a clock change, is "just
--- now".
---@param sent number
---@return string
local function age(sent)
  local messages, minutes = require('acp.base.messages'), (os.time() - sent) / 60
  if minutes < 1 then return messages.part_now end
  if minutes < 60 then return messages.part_minutes:format(minutes) end
  if minutes < 24 * 60 then return messages.part_hours:format(minutes / 60) end
  return messages.part_days:format(minutes / 60 / 24)
end

---@param author acp.BlameAuthor
---@return string
local function label(author)
  local words = author.words
  if vim.fn.strchars(words) > WIDTH then
    words = vim.fn.strcharpart(words, 0, WIDTH - 1) .. '…'
  end
  local excerpt = words ~= '' and ' · ' .. words or ''
  return require('acp.base.messages').blame_line:format(author.agent, age(author.sent), excerpt)
end

--- Show the author of the cursor's line.
local function draw(bufnr)
  api.nvim_buf_del_extmark(bufnr, text_ns, TEXT)
  if api.nvim_get_current_buf() ~= bufnr or api.nvim_get_mode().mode:find('^[iR]') then return end
  local row = api.nvim_win_get_cursor(0)[1] - 1
  local author = author_at(bufnr, row)
  if author then
    local text = '  ' .. label(author)
    local options = { id = TEXT, virt_text = { { text, 'AcpBlame' } }, hl_mode = 'combine' }
    api.nvim_buf_set_extmark(bufnr, text_ns, row, 0, options)
  end
end

local function clear(bufnr)
  if api.nvim_buf_is_loaded(bufnr) then
    api.nvim_buf_clear_namespace(bufnr, lines_ns, 0, -1)
    api.nvim_buf_clear_namespace(bufnr, text_ns, 0, -1)
  end
end

--- Return whether the cursor is on an agent's line. Return nil if the buffer does not show blame.
---@param bufnr integer
---@return boolean|nil
local function on_agents_line(bufnr)
  if not shown[bufnr] then return nil end
  return author_at(bufnr, api.nvim_win_get_cursor(0)[1] - 1) ~= nil
end

--- Create autocommands, which exist as long as any buffer shows blame.
local function watch()
  local on, group = require('acp.base.autocmds').group('acp.blame')
  local function if_shown(action)
    return function(args)
      if shown[args.buf] then action(args.buf) end
    end
  end
  local moved = { 'CursorMoved', 'TextChanged', 'InsertEnter', 'InsertLeave', 'BufEnter' }
  on(
    moved,
    if_shown(function(bufnr)
      vim.schedule(function() M.redraw(bufnr) end)
    end)
  )
  on('BufLeave', if_shown(function(bufnr) api.nvim_buf_del_extmark(bufnr, text_ns, TEXT) end))
  on('BufReadPost', if_shown(ask))
  on({ 'BufDelete', 'BufWipeout' }, if_shown(function(bufnr) M.hide(bufnr) end))
  on('User', function(args)
    for bufnr, file in pairs(shown) do
      if file.path == args.data.path then ask(bufnr) end
    end
  end, { pattern = 'AcpEdit' })
  return group
end

local group ---@type integer|nil

--- Redraw a buffer if it is loaded and shows blame.
function M.redraw(bufnr)
  if shown[bufnr] and api.nvim_buf_is_loaded(bufnr) then draw(bufnr) end
end

--- Show blame in a buffer, or hide it.
function M.toggle(bufnr)
  if shown[bufnr] then return M.hide(bufnr) end
  local name = api.nvim_buf_get_name(bufnr)
  if name == '' or vim.bo[bufnr].buftype ~= '' then
    return require('acp.base.notify').show('info', 'no_file')
  end
  require('acp.ui.highlights').define()
  shown[bufnr] = { path = vim.uv.fs_realpath(name) or name, authors = {}, lines = {} }
  group = group or watch()
  require('acp.ui.keymaps').attach_over('blame', bufnr, on_agents_line)
  ask(bufnr)
end

function M.hide(bufnr)
  if not shown[bufnr] then return end
  shown[bufnr] = nil
  clear(bufnr)
  require('acp.ui.keymaps').detach('blame', bufnr)
  if group and not next(shown) then
    api.nvim_del_augroup_by_id(group)
    group = nil
  end
end

function M.is_shown(bufnr) return shown[bufnr] ~= nil end

--- Frame operation: set the authors of a buffer's lines at `tick`. If the buffer has changed since
--- then, request them again.
---@param ranges integer[] flat: first row, row after the last (0-based) and author of each range
---@param authors acp.BlameAuthor[]
function M.set(bufnr, tick, ranges, authors)
  local file = shown[bufnr]
  if not file or not api.nvim_buf_is_loaded(bufnr) then return end
  if tick ~= api.nvim_buf_get_changedtick(bufnr) then
    return vim.defer_fn(function() ask(bufnr) end, AGAIN_MS)
  end
  clear(bufnr)
  file.authors, file.lines = {}, {}
  for _, author in ipairs(authors) do
    file.authors[author.id] = author
  end
  for i = 1, #ranges, 3 do
    for at, text in ipairs(api.nvim_buf_get_lines(bufnr, ranges[i], ranges[i + 1], false)) do
      local id = api.nvim_buf_set_extmark(bufnr, lines_ns, ranges[i] + at - 1, 0, {})
      file.lines[id] = { author = ranges[i + 2], text = text }
    end
  end
  if #ranges == 0 and not file.answered then
    require('acp.base.notify').show('info', 'blame_nothing')
  end
  file.answered = true
  draw(bufnr)
end

--- Open the prompt that wrote the cursor's line.
function M.open(bufnr)
  local author = author_at(bufnr, api.nvim_win_get_cursor(0)[1] - 1)
  if author then
    require('acp.ui.report').allow_focus()
    require('acp.base.host').notify('blame_open', { author = author.id })
  end
end

return M
