--- Pictures in chats. When the row of an image is first on the screen, the host writes the image to
--- a file, and the first backend that works here draws it. If no backend works, the row shows only
--- its text.
local M = {}

local api = vim.api
local ns = api.nvim_create_namespace('acp.pictures')

--- Maximum number of rows of a picture, and the indent of its left edge.
local ROWS, PAD = 12, 2

--- Assumed size of a cell in pixels. Terminals keep the proportions of an image in any area.
local CELL_WIDTH, CELL_HEIGHT = 10, 20

--- Maximum number of bytes of the images that are drawn. The oldest are removed first, and drawn
--- again when they are seen.
local MAX_BYTES = 64 * 1024 * 1024

---@class acp.Picture
---@field bufnr integer
---@field where table position of its content block
---@field mark? integer extmark at its row
---@field file? string
---@field bytes? integer
---@field width? integer pixels
---@field height? integer
---@field size? { columns: integer, rows: integer } cells
---@field handle? any of the backend
---@field busy? boolean whether it is being fetched
---@field failed? boolean

---@class acp.PictureBackend
---@field check fun(answer: fun(works: boolean)) find out whether it works here
---@field draw fun(picture: acp.Picture, row: integer): any handle
---@field remove fun(picture: acp.Picture)
---@field move? fun(picture: acp.Picture, row: integer) change row and size; nil: draw it again
---@field is_lost? fun(picture: acp.Picture): boolean whether a picture on the screen is not drawn

---@type string[] modules, the best first
local BACKENDS = { 'neovim', 'snacks', 'image_nvim', 'kitty' }

local backend ---@type acp.PictureBackend|false|nil false if none works; nil until this is known
local pictures = {} ---@type table<integer, table<string, acp.Picture>> by buffer and position
local drawn = {} ---@type acp.Picture[] the oldest first

--- Return a string that identifies the position of a content block.
local function key_of(where)
  local parts = {}
  for name, value in pairs(where) do
    parts[#parts + 1] = ('%s=%s'):format(name, value)
  end
  table.sort(parts)
  return table.concat(parts, ' ')
end

--- Return the size in cells that fits into the narrowest window of the chat.
---@param picture acp.Picture
local function size_of(picture)
  local most = require('acp.features.pictures.placeholders').MOST
  for _, win in ipairs(vim.fn.win_findbuf(picture.bufnr)) do
    most = math.min(most, require('acp.ui.win').text_columns(win) - PAD)
  end
  local columns, rows = picture.width / CELL_WIDTH, picture.height / CELL_HEIGHT
  local scale = math.min(1, math.max(most, 1) / columns, ROWS / rows)
  local function cells(count) return math.max(math.floor(count * scale + 0.5), 1) end
  return { columns = cells(columns), rows = cells(rows) }
end

--- Return the row of a picture; nil if its row has been removed or redrawn.
---@param picture acp.Picture
---@return integer|nil
local function row_of(picture)
  if not picture.mark then return end
  local at = api.nvim_buf_get_extmark_by_id(picture.bufnr, ns, picture.mark, { details = true })
  return at[1] and not at[3].invalid and at[1] or nil
end

--- Return whether a picture has failed, or is drawn or being fetched for `row`.
---@param picture acp.Picture
---@param row integer
local function is_done(picture, row)
  if picture.failed then return true end
  return row_of(picture) == row and not (backend and backend.is_lost and backend.is_lost(picture))
end

---@param picture acp.Picture
local function remove(picture)
  if picture.handle and backend then backend.remove(picture) end
  if picture.mark and api.nvim_buf_is_valid(picture.bufnr) then
    api.nvim_buf_del_extmark(picture.bufnr, ns, picture.mark)
  end
  if picture.file then vim.uv.fs_unlink(picture.file) end
  picture.handle, picture.mark, picture.file = nil, nil, nil
  drawn = vim.tbl_filter(function(other) return other ~= picture end, drawn)
end

--- Remove the oldest pictures until the rest is small enough.
local function limit()
  local bytes = 0
  for _, picture in ipairs(drawn) do
    bytes = bytes + picture.bytes
  end
  while bytes > MAX_BYTES and #drawn > 1 do
    bytes = bytes - drawn[1].bytes
    remove(drawn[1])
  end
end

--- Draw a picture below its row, or draw it again there.
---@param picture acp.Picture
local function show(picture)
  local row = row_of(picture)
  if not row or not backend then return end
  picture.size = size_of(picture)
  if picture.handle and backend.move then return backend.move(picture, row) end
  if picture.handle then
    backend.remove(picture)
    picture.handle = backend.draw(picture, row)
    return
  end
  local ok, handle = pcall(backend.draw, picture, row)
  if not ok or not handle then
    picture.failed = true
    return remove(picture)
  end
  picture.handle = handle
  drawn[#drawn + 1] = picture
  limit()
end

--- Get the file of a picture from the host and draw it.
---@param picture acp.Picture
---@param n integer session
local function fetch(picture, n)
  picture.busy = true
  local file = vim.fn.tempname() .. '.png'
  local function on_reply(size)
    picture.busy = false
    if not size or not api.nvim_buf_is_valid(picture.bufnr) then
      picture.failed = true
      vim.uv.fs_unlink(file)
      return
    end
    picture.file, picture.width, picture.height = file, size[1], size[2]
    picture.bytes = (vim.uv.fs_stat(file) or {}).size or 0
    show(picture)
  end
  require('acp.base.host').notify('picture', {
    id = require('acp.base.host.replies').expect(on_reply),
    session = n,
    where = picture.where,
    file = file,
  })
end

--- Redraw all pictures whose size no longer fits their windows.
local function fit()
  for _, picture in ipairs(drawn) do
    local size = size_of(picture)
    if row_of(picture) and not vim.deep_equal(size, picture.size) then show(picture) end
  end
end

local function redraw() vim.iter(drawn):each(show) end

---@param bufnr integer
local function forget(bufnr)
  for _, picture in pairs(pictures[bufnr] or {}) do
    remove(picture)
  end
  pictures[bufnr] = nil
end

--- Remove all pictures. The next host may number its content blocks as the last one did.
function M.clear()
  for bufnr in pairs(pictures) do
    forget(bufnr)
  end
end

--- Remove all pictures, and redraw their windows. If the option is on, they are drawn again.
function M.refresh()
  for bufnr in pairs(pictures) do
    for _, win in ipairs(vim.fn.win_findbuf(bufnr)) do
      api.nvim__redraw({ win = win, valid = false })
    end
  end
  M.clear()
end

local watch = require('acp.base.once')(function()
  local on = require('acp.base.autocmds').group('acp.pictures')
  on('WinResized', fit)
  on('BufWipeout', function(args) forget(args.buf) end)
  on('OptionSet', M.refresh, { pattern = 'termguicolors' })
  on('ColorScheme', redraw) -- it clears the groups of the cells
  on('VimLeavePre', M.clear)
end)

local waiting = {} ---@type fun()[] calls for the time when a backend is known

--- Find the first backend that works, and then make the calls in `waiting`.
---@param at integer in `BACKENDS`
local function choose(at)
  local function finish(chosen)
    backend = chosen
    for _, call in ipairs(waiting) do
      call()
    end
    waiting = {}
  end
  if not BACKENDS[at] then return finish(false) end
  local candidate = require('acp.features.pictures.' .. BACKENDS[at])
  candidate.check(function(works)
    if works then
      finish(candidate)
    else
      choose(at + 1)
    end
  end)
end

---@param fn fun()
local function with_backend(fn)
  if backend then return fn() end
  if backend == false then return end
  waiting[#waiting + 1] = function()
    if backend then fn() end
  end
  if #waiting == 1 then choose(1) end
end

--- Draw the picture of a row if the row still has it. Fetch it first if necessary.
---@param chat acp.Chat
---@param row integer
---@param where table position of the content block
local function draw_or_fetch(chat, row, where)
  local now = chat.targets[row + 1]
  local is_there = type(now) == 'table' and now.picture and vim.deep_equal(now.where, where)
  if not is_there or not api.nvim_buf_is_loaded(chat.bufnr) then return end
  if not require('acp.base.host').is_running() then return end
  watch()
  pictures[chat.bufnr] = pictures[chat.bufnr] or {}
  local key = key_of(where)
  local picture = pictures[chat.bufnr][key] or { bufnr = chat.bufnr, where = where }
  pictures[chat.bufnr][key] = picture
  if is_done(picture, row) then return end
  picture.mark = api.nvim_buf_set_extmark(chat.bufnr, ns, row, 0, {
    id = picture.mark,
    invalidate = true,
    undo_restore = false,
  })
  if picture.busy then return end
  if picture.file then return show(picture) end
  with_backend(function()
    if not picture.busy and not picture.file then fetch(picture, chat.n) end
  end)
end

--- Draw the picture of a row that is being drawn, unless it has already been drawn.
---@param chat acp.Chat
---@param row integer
---@param where table position of the content block
function M.on_drawn(chat, row, where)
  if backend == false or not require('acp.config').get().chat.images then return end
  local picture = (pictures[chat.bufnr] or {})[key_of(where)]
  if picture and is_done(picture, row) then return end
  vim.schedule(function() draw_or_fetch(chat, row, where) end)
end

return M
