--- Subcommand `:Acp report`.
local subcommand, valid_names = require('acp.ui.subcommand'), require('acp.base.valid_names')

local function make(args)
  local file = subcommand.absolute(args[1])
  require('acp.features.report.report').make(file)
end

---@type table<string, acp.Subcommand>
return {
  report = {
    max = 1,
    paths = true,
    values = function(args, lead) return #args == 0 and valid_names.files(lead) or {} end,
    run = make,
  },
}
