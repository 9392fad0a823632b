local config = require('acp.config')
local paths = {
  'agents.mine',
  'agents.mine.env',
  'agents.mine.options',
  'agents.mine.protocol',
  'agents.mine.system_prompt',
  'agents.mine.system_prompt.mode',
  'agents.mine.mcp_servers',
  'agents.mine.meta',
  'agents.mine.command',
  'agents.mine.cwd',
  'agents.mine.url',
  'agents.mine.headers',
  'agents.mine.headers.X-Key',
  'permission.rules',
  'permission.rules.1',
  'permission.rules.1.action',
  'permission.rules.1.kind',
  'keymaps.chat.<CR>',
  'keymaps.chat.<CR>.mode',
  'agents_file',
  'python',
  'no.such.option',
  'no',
}
local function walk(defaults, prefix)
  for name, value in pairs(defaults) do
    paths[#paths + 1] = prefix .. name
    if type(value) == 'table' and not vim.islist(value) and name ~= 'agents' then
      walk(value, prefix .. name .. '.')
    end
  end
end
walk(config.defaults, '')
return paths
