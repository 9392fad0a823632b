--- Tools that come by themselves once a plugin is there: of nvim-dap and neotest. The plugins are
--- looked for among what is loaded, never loaded.
local M = {}

---@class acp.Pack
---@field plugin string its module
---@field tools string the module of ours with the tools
---@field ready fun(plugin: table): boolean

local missing = { ---@type acp.Pack[]
  {
    plugin = 'dap',
    tools = 'acp.tools.debug',
    ready = function(dap) return dap.session ~= nil end,
  },
  {
    plugin = 'neotest',
    tools = 'acp.tools.tests',
    -- Its parts are there after its setup.
    ready = function(neotest) return neotest.run ~= nil and neotest.state ~= nil end,
  },
}

---@param pack acp.Pack
local function is_there(pack)
  local plugin = package.loaded[pack.plugin]
  return type(plugin) == 'table' and pack.ready(plugin)
end

--- Offer the tools of plugins that have come; whether some have not.
---@return boolean
local function look()
  for i = #missing, 1, -1 do
    if is_there(missing[i]) then
      local pack = table.remove(missing, i)
      require('acp.tools.user_tools').offer(require(pack.tools))
    end
  end
  return #missing > 0
end

--- Look for them now, and again whenever Neovim has done something, as long as one is missing.
function M.watch()
  if not look() then return end
  local on, group = require('acp.base.autocmds').group('acp.packs')
  on('SafeState', function()
    if not look() then vim.api.nvim_del_augroup_by_id(group) end
  end)
end

return M
