--- Pictures drawn by image.nvim. Each of its images belongs to a window of the current tab page.
---@type acp.PictureBackend
local M = {}

--- Its `setup()` creates an augroup. Without it the plugin draws nothing.
---@param answer fun(works: boolean)
function M.check(answer)
  local ok, image = pcall(require, 'image')
  local is_usable = ok and type(image) == 'table' and image.from_file ~= nil
  answer(is_usable and vim.fn.exists('#image.nvim') == 1)
end

---@param picture acp.Picture
function M.draw(picture, row)
  local image = require('image').from_file(picture.file, {
    window = vim.fn.bufwinid(picture.bufnr), -- -1 if hidden: it draws nothing
    buffer = picture.bufnr,
    x = 2,
    y = row,
    width = picture.size.columns,
    height = picture.size.rows,
    inline = true,
    with_virtual_padding = true,
  })
  if image then image:render() end
  return image
end

function M.remove(picture) picture.handle:clear() end

--- It drops the images of a window that is closed or in another tab page.
function M.is_lost(picture)
  local plugin, image = require('image'), picture.handle
  if not image or plugin.is_enabled and not plugin.is_enabled() then return false end
  return image.window ~= vim.fn.bufwinid(picture.bufnr)
    or not vim.list_contains(plugin.get_images(), image)
end

return M
