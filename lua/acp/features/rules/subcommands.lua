--- Subcommand `:Acp rules`.
local subcommand = require('acp.ui.subcommand')

---@type table<string, acp.Subcommand>
return {
  rules = {
    run = subcommand.with_report(function() require('acp.features.rules.rules').list() end),
  },
}
