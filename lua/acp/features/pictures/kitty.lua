--- Pictures in kitty's graphics protocol with Unicode placeholders, which scroll with the text and
--- pass through tmux.
---@type acp.PictureBackend
local M = {}

local api = vim.api
local ns = api.nvim_create_namespace('acp.pictures.kitty')

local PAD = '  '

--- Bytes of an image in one sequence: 4096 in base64.
local CHUNK = 3072

--- Sequences that are written at once, and the pause after them.
local BURST, PAUSE_MS = 32, 5

--- First versions with placeholders, by the name of a terminal.
---@type table<string, integer[]>
local SINCE = { ghostty = { 1 }, kitty = { 0, 28 } }

--- Terminals that draw images with this protocol, but have no placeholders.
local WITHOUT = { iterm2 = true, konsole = true, warpterminal = true, wezterm = true }

--- Return whether a terminal is known to draw no placeholders.
---@param found acp.Terminal
local function lacks_placeholders(found)
  local since = SINCE[found.name]
  local is_older = since and not require('acp.base.terminal').has_version(found, since)
  return WITHOUT[found.name] or is_older
end

local QUERY = '\27_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\27\\'
local ATTRIBUTES = '\27[c' -- DA1, which every terminal answers, after the query

local terminal ---@type acp.Terminal|nil

--- Send the protocol's own query. Neovim passes the answer on since 0.12.
---@param answer fun(works: boolean)
local function ask_directly(answer)
  local has_graphics, named = false, nil ---@type boolean, acp.Terminal|nil
  local module = require('acp.base.terminal')
  local function on_response(response)
    named = module.parse_response(response) or named
    has_graphics = has_graphics or response:match('^\27_Gi=31;OK') ~= nil
    return response:match('^\27%[%?[%d;]*c') ~= nil
  end
  module.query(module.NAME_QUERY .. QUERY .. ATTRIBUTES, on_response, function()
    terminal = named or module.new_unnamed()
    answer(has_graphics and not (named and lacks_placeholders(named)))
  end)
end

---@param answer fun(works: boolean)
function M.check(answer)
  local module = require('acp.base.terminal')
  local prints_queries = vim.env.TERM_PROGRAM == 'Apple_Terminal' or vim.env.TERM == 'linux'
  if not module.exists() or prints_queries or vim.env.STY then return answer(false) end
  if vim.fn.has('nvim-0.12') == 1 and not vim.env.TMUX then return ask_directly(answer) end
  module.ask(function(found)
    terminal = found
    answer(found ~= nil and module.has_version(found, SINCE[found.name]))
  end)
end

---@param keys string
---@param payload? string
local function send(keys, payload)
  assert(terminal).send(('\27_G%s,q=2;%s\27\\'):format(keys, payload or ''))
end

local count = 0

--- Return a new id of an image. The colour of its cells is the id.
---@return integer
local function new_id()
  count = count + 1
  local pid = vim.uv.os_getpid()
  if vim.o.termguicolors then return (pid % 0x3fff + 1) * 0x400 + count % 0x400 end
  return (pid + count) % 255 + 1
end

--- Define the highlight group whose colour is the id of an image, as kitty's protocol requires. It
--- is defined at each placement, because a colour scheme clears all groups.
---@return string group
local function colour(id)
  local group = 'AcpPicture' .. id
  api.nvim_set_hl(0, group, { fg = id, ctermfg = id % 256, nocombine = true })
  return group
end

---@class acp.KittyImage
---@field id integer
---@field mark? integer
---@field sent? boolean whether the terminal has the image
---@field removed? boolean

--- Draw the cells below a row.
---@param picture acp.Picture
---@param image acp.KittyImage
---@param row integer
local function draw_cells(picture, image, row)
  local size = picture.size
  send(('a=p,U=1,i=%d,c=%d,r=%d'):format(image.id, size.columns, size.rows))
  local grid = require('acp.features.pictures.placeholders').grid(size.columns, size.rows)
  local group = colour(image.id)
  image.mark = api.nvim_buf_set_extmark(picture.bufnr, ns, row, 0, {
    id = image.mark,
    virt_lines = vim.tbl_map(function(line) return { { PAD }, { line, group } } end, grid),
    invalidate = true,
    undo_restore = false,
  })
end

--- Queue of transmissions. The chunks of two images must not be mixed.
local add_job = require('acp.base.slices').queue(PAUSE_MS)

---@param image acp.KittyImage
---@param png string
local function transmit(image, png)
  local slices = require('acp.base.slices')
  local last = math.max(math.ceil(#png / CHUNK), 1)
  for i = 1, last do
    local chunk = vim.base64.encode(png:sub((i - 1) * CHUNK + 1, i * CHUNK))
    local first = i == 1 and ('a=t,t=d,f=100,i=%d,'):format(image.id) or ''
    send(('%sm=%d'):format(first, i < last and 1 or 0), chunk)
    if i % BURST == 0 then slices.rest() end
  end
end

---@param picture acp.Picture
---@param row integer
---@return acp.KittyImage
function M.draw(picture, row)
  local image = { id = new_id() } ---@type acp.KittyImage
  local file = assert(picture.file)
  -- The row may move before the terminal has the image.
  image.mark = api.nvim_buf_set_extmark(picture.bufnr, ns, row, 0, {})
  add_job(function()
    if image.removed then return end
    transmit(image, assert(require('acp.base.read_file')(file)))
    image.sent = true
    if image.removed then return M.remove({ handle = image, bufnr = picture.bufnr }) end
    local at = api.nvim_buf_get_extmark_by_id(picture.bufnr, ns, image.mark, {})[1]
    if at then draw_cells(picture, image, at) end
  end)
  return image
end

function M.move(picture, row)
  local image = picture.handle ---@type acp.KittyImage
  if image.sent then return draw_cells(picture, image, row) end
  image.mark = api.nvim_buf_set_extmark(picture.bufnr, ns, row, 0, { id = image.mark })
end

function M.remove(picture)
  local image = picture.handle ---@type acp.KittyImage
  image.removed = true
  if image.sent then send(('a=d,d=I,i=%d'):format(image.id)) end
  if image.mark and api.nvim_buf_is_valid(picture.bufnr) then
    api.nvim_buf_del_extmark(picture.bufnr, ns, image.mark)
  end
end

return M
