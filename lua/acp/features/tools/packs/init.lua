--- Packs of tools for nvim-dap and neotest. A pack is offered as soon as its plugin is loaded; this
--- module never loads a plugin.
local M = {}

---@class acp.Pack
---@field plugin string module of the plugin
---@field tools string module with the tools
---@field ready fun(plugin: table): boolean

local missing = { ---@type acp.Pack[]
  {
    plugin = 'dap',
    tools = 'acp.features.tools.packs.debug',
    ready = function(dap) return dap.session ~= nil end,
  },
  {
    plugin = 'neotest',
    tools = 'acp.features.tools.packs.tests',
    -- These modules exist after its setup.
    ready = function(neotest) return neotest.run ~= nil and neotest.state ~= nil end,
  },
}

---@param pack acp.Pack
local function is_there(pack)
  local plugin = package.loaded[pack.plugin]
  return type(plugin) == 'table' and pack.ready(plugin)
end

--- Offer the tools of plugins that are loaded by now.
---@return boolean missing whether a plugin is not loaded yet
local function offer_loaded()
  for i = #missing, 1, -1 do
    if is_there(missing[i]) then
      local pack = table.remove(missing, i)
      require('acp.features.tools.user_tools').register_pack(require(pack.tools))
    end
  end
  return #missing > 0
end

--- Check for the plugins now, and at each SafeState while one is missing.
function M.watch()
  if not offer_loaded() then return end
  local on, group = require('acp.base.autocmds').group('acp.packs')
  on('SafeState', function()
    if not offer_loaded() then vim.api.nvim_del_augroup_by_id(group) end
  end)
end

return M
