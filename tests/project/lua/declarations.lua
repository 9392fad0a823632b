--- Return the signals and the actions that features declare, and the targets that are missing.
local found = { missing = {}, signals = {}, windows = {} }
local function check(name, feature, target)
  if type(target) == 'function' then return end
  local module = require(('acp.features.%s.%s'):format(feature, target[1]))
  if not vim.is_callable(module[target[2]]) then table.insert(found.missing, name) end
end
for _, feature in ipairs(...) do
  local declaration = require('acp.features.' .. feature)
  for _, kind in ipairs({ 'frame', 'functions', 'commands', 'maps', 'signals' }) do
    for name, target in pairs(declaration[kind] or {}) do
      check(feature .. ': ' .. name, feature, target)
      if kind == 'signals' then table.insert(found.signals, name) end
    end
  end
  for name in pairs(declaration.subcommands or {}) do
    local list = require('acp.features.' .. feature .. '.subcommands')
    if not list[name].run then table.insert(found.missing, feature .. ': ' .. name) end
  end
  for _, window in ipairs(declaration.windows or {}) do
    local keys = require('acp.features.' .. feature .. '.keys')[window]
    found.windows[window] = vim.tbl_extend('error', found.windows[window] or {}, keys)
  end
end
found.windows = vim.tbl_map(function(actions) return vim.tbl_keys(actions) end, found.windows)
return found
