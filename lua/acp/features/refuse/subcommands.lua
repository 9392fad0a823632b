--- Subcommand `:Acp refuse`.
local subcommand = require('acp.ui.subcommand')

---@type table<string, acp.Subcommand>
return {
  refuse = {
    max = -1,
    run = subcommand.when_running(
      'no_permission',
      function(_, opts) require('acp.features.refuse.refuse').command(opts.rest) end
    ),
  },
}
