--- Component `acp` of lualine.nvim: `require('acp').statusline()` in the colour of its state.
local Component = require('lualine.component'):extend()

--- Return the colour of the state, without a background: the section has one.
---@return { fg: string }|nil
local function colour()
  local group = require('acp').statusline_group()
  local fg = group ~= '' and vim.api.nvim_get_hl(0, { name = group, link = false }).fg
  return fg and { fg = ('#%06x'):format(fg) } or nil
end

---@param options { color?: any, short?: boolean } short: false adds agent and context
function Component:init(options)
  options.color = options.color or colour
  Component.super.init(self, options)
end

---@return string
function Component:update_status()
  return require('acp').statusline({ short = self.options.short ~= false })
end

return Component
