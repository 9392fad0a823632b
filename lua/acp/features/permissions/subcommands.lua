--- Subcommands for pending questions.
local subcommand = require('acp.ui.subcommand')

---@type table<string, acp.Subcommand>
local M = {}

for _, verb in ipairs({ 'allow', 'deny' }) do
  local run = subcommand.when_running(
    'no_permission',
    function(args) require('acp.features.permissions.decide').command(verb, args[1]) end
  )
  local function values(args)
    if #args > 0 then return {} end
    return require('acp.features.permissions.decide').option_ids()
  end
  M[verb] = { max = 1, values = values, strict = true, run = run }
end

M.permissions = {
  run = subcommand.when_running(
    'no_permission',
    subcommand.with_report(function()
      if not require('acp.features.permissions.float').enter() then
        subcommand.notify('permissions')
      end
    end)
  ),
}

return M
