--- `:checkhealth acp`.
return { check = function() require('acp.base.installation.checks').run(vim.health) end }
