local options = ...
local prompts = vim.deepcopy(options.prompts)
function prompts.made(ctx)
  local range = ctx.range
  local name = vim.fs.basename(ctx.path)
  return ('%s %d-%d %s'):format(name, range.first, range.last, range.text)
end
function prompts.twice(ctx) return 'Look at ' .. vim.fs.basename(ctx.path) end
function prompts.nothing() end
function prompts.broken() error('no luck') end
require('acp').setup(vim.tbl_extend('force', options, { prompts = prompts }))
