--- `:checkhealth acp`.
return {
  check = function()
    require('acp.base.installation.checks').run(vim.health)
    require('acp.base.installation.reach').run(vim.health)
  end,
}
