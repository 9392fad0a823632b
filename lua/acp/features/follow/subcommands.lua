--- The subcommand `:Acp follow`.
---@type table<string, acp.Subcommand>
return {
  follow = {
    run = function() require('acp.features.follow.window').toggle() end,
  },
}
