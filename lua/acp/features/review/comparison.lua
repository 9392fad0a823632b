--- Read-only comparison of the text before (left) and after (right) a tool call, in diff mode.
local M = {}

local sides = require('acp.features.review.sides')
local tab = require('acp.features.review.tab')

---@class acp.ComparedTexts: acp.ReviewFile
---@field after string[]

---@param what string
---@param file acp.ComparedTexts
---@param lines string[]
local function page(what, file, lines)
  local name = ('acp://compare/%s/%s'):format(what, vim.fs.basename(file.path))
  return sides.scratch(name, lines, sides.filetype(file)), what
end

---@type acp.ReviewSource
local source = {
  left = function(file) return page('Before', file, file.base) end,
  right = function(file)
    ---@cast file acp.ComparedTexts
    return page('After', file, file.after)
  end,
  hint = function()
    return require('acp.ui.keymaps').words('review', { close = 'close', help = 'keys' }), ''
  end,
  decide = function() require('acp.base.notify').show('info', 'comparison_only') end,
  closed = function() end,
}

--- Frame operation: compare the two texts of each file.
---@param files { path: string, base: string[], after: string[] }[]
function M.open(files)
  if not require('acp.features.review.request').may_open() then return end
  tab.close()
  for _, file in ipairs(files) do
    file.kind, file.hunks, file.label = #file.base == 0 and 'created' or 'modified', 1, 'changed'
  end
  tab.present(files, source)
end

return M
