--- The subcommand `:Acp edit`.

---@type table<string, acp.Subcommand>
return {
  edit = {
    max = -1,
    bang = true,
    run = function(_, opts) require('acp.features.edit.edit').command(opts) end,
  },
}
