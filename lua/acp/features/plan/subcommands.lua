--- The subcommand `:Acp plan`.
---@type table<string, acp.Subcommand>
return {
  plan = {
    run = function()
      local n = require('acp.base.state').get().current
      if n then
        require('acp.features.plan.view').toggle(n)
      else
        require('acp.base.notify').show('info', 'no_session')
      end
    end,
  },
}
