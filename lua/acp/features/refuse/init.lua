--- Refusals with a reason.
---@type acp.Feature
return {
  subcommands = {
    refuse = { 'refuse the oldest permission, and say why', 'Decide', 4, applies = 'asked' },
  },
  windows = { 'permission' },
}
