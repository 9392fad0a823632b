--- `:checkhealth acp`.
return { check = function() require('acp.base.checks').run(vim.health) end }
