--- Pictures drawn by |vim.ui.img| (0.13). It uses kitty's protocol, unless the user has replaced
--- it.
---@type acp.PictureBackend
local M = {}

local PAD = 2

---@param answer fun(works: boolean)
function M.check(answer)
  local img = vim.ui.img
  if not img then return answer(false) end
  if not img._supported then return answer(true) end -- the user's replacement
  require('acp.features.pictures.kitty').check(answer)
end

---@param picture acp.Picture
local function options_of(picture, row)
  return {
    buf = picture.bufnr,
    relative = 'buffer',
    row = row + 1,
    col = 1,
    width = picture.size.columns,
    height = picture.size.rows,
    pad = PAD,
  }
end

---@param picture acp.Picture
---@return integer|nil id
function M.draw(picture, row)
  local png = assert(require('acp.base.read_file')(picture.file))
  local id = vim.ui.img.set(png, options_of(picture, row))
  local placed = vim.ui.img.get(id)
  if placed and placed.buf then return id end
  vim.ui.img.del(id) -- an earlier version, which places images on the screen only
end

function M.move(picture, row) vim.ui.img.set(picture.handle, options_of(picture, row)) end

function M.remove(picture) vim.ui.img.del(picture.handle) end

return M
