--- Pictures by image.nvim. Each of its images belongs to the window in which it is first seen.
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
    window = vim.fn.win_findbuf(picture.bufnr)[1],
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

return M
