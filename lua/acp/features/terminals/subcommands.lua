--- The subcommand `:Acp terminals`.
local subcommand = require('acp.ui.subcommand')

---@type table<string, acp.Subcommand>
return {
  terminals = {
    run = subcommand.when_running('no_terminals', function() subcommand.notify('terminals') end),
  },
}
