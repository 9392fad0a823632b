--- Subcommand `:Acp overview`.
---@type table<string, acp.Subcommand>
return {
  overview = {
    run = function(_, opts) require('acp.features.overview.view').open(opts.smods or {}) end,
  },
}
