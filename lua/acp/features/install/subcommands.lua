--- The subcommand `:Acp install`.
---@type table<string, acp.Subcommand>
return {
  install = {
    run = function() require('acp.features.install.environment').run() end,
  },
}
