-- Return the declarations of features that name no function.
local missing = {}
local root = vim.api.nvim_get_runtime_file('lua/acp/features/init.lua', false)[1]
for feature, kind_of in vim.fs.dir(vim.fs.dirname(root)) do
  local declared = kind_of == 'directory' and require('acp.features.' .. feature) or {}
  for _, kind in ipairs({ 'frame', 'signals', 'functions', 'commands', 'maps' }) do
    for name, target in pairs(declared[kind] or {}) do
      if type(target) == 'table' then
        local module = require(('acp.features.%s.%s'):format(feature, target[1]))
        if type(module[target[2]]) ~= 'function' then
          missing[#missing + 1] = ('%s: %s.%s'):format(feature, kind, name)
        end
      end
    end
  end
end
return missing
