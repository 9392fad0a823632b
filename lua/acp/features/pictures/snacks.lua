--- Pictures drawn by snacks.nvim (`Snacks.image`).
---@type acp.PictureBackend
local M = {}

---@param answer fun(works: boolean)
function M.check(answer)
  local ok, works = pcall(function() return require('snacks').image.supports_terminal() end)
  answer(ok and works == true)
end

---@param picture acp.Picture
function M.draw(picture, row)
  return require('snacks').image.placement.new(picture.bufnr, picture.file, {
    pos = { row + 1, 0 },
    inline = true,
    max_width = picture.size.columns,
    max_height = picture.size.rows,
  })
end

function M.remove(picture) picture.handle:close() end

return M
