--- The subcommand `:Acp history`.
local subcommand = require('acp.ui.subcommand')

---@type table<string, acp.Subcommand>
local M = {}

M.history = {
  max = -1,
  values = subcommand.first_argument({ 'stats' }),
  run = subcommand.with_report(function(args, opts)
    local cwd = require('acp.base.places').cwd()
    if #args == 1 and args[1] == 'stats' then
      subcommand.notify('history_stats', { cwd = cwd })
    else
      subcommand.notify('history', { words = vim.trim(opts.rest), cwd = cwd })
    end
  end),
}

return M
