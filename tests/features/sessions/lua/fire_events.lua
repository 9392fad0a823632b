vim.api.nvim_clear_autocmds({ event = 'User' }) -- those of the fixture, for all events
local matches, group = {}, vim.api.nvim_create_augroup('test.events', {})
local listen
function listen(name, more)
  vim.api.nvim_create_autocmd('User', {
    group = group,
    pattern = name,
    callback = function(args)
      table.insert(matches, args.match .. ' ' .. args.data.id)
      _G.last = args.data
      if more then listen(more) end
      if more then return true end
    end,
  })
end
listen('AcpPermission', 'AcpToolCall')
local offered = { { { id = 'yes', name = 'Yes', kind = 'allow_once' } } }
require('acp.base.events').fire_all(3, {
  'calls',
  { 'a', 'pending' },
  'asked',
  'd1',
  'a',
  'Run a',
  1,
  'calls',
  { 'b', 'pending', 'a', 'completed' },
  'asked',
  'd2',
  false,
  'Run b',
  1,
  'done',
  'd1',
  'selected',
  'yes',
}, offered)
vim.api.nvim_del_augroup_by_id(group)
return matches
