--- The subcommand `:Acp blame`.
local subcommand = require('acp.ui.subcommand')

local notify = subcommand.notify

---@type table<string, acp.Subcommand>
local M = {}

M.blame = {
  max = 2,
  paths = true,
  values = function(args, lead)
    if #args == 0 then return { 'export' } end
    return args[1] == 'export' and require('acp.base.valid_names').files(lead) or {}
  end,
  run = subcommand.with_report(function(args)
    local view, bufnr = require('acp.features.blame.view'), vim.api.nvim_get_current_buf()
    if not require('acp.config').get().blame and not view.is_shown(bufnr) then
      require('acp.base.notify').show('info', 'blame_off')
    elseif not args[1] then
      view.toggle(bufnr)
    elseif args[1] == 'export' then
      local cwd = require('acp.base.places').cwd()
      notify('blame_export', { file = subcommand.absolute(args[2]), cwd = cwd })
    else
      local nearest, names = require('acp.base.text.nearest'), { 'export' }
      local mistake = nearest.message('argument of :Acp blame', args[1], names)
      require('acp.base.notify').error(mistake)
    end
  end),
}

return M
