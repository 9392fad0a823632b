local path = ...
local config, raised, many = require('acp.config'), {}, {}
local odd = {
  true,
  0.5,
  1 / 0,
  0 / 0,
  '',
  '\nx',
  'auto',
  {},
  { 'x' },
  { x = 1 },
  { [2] = 'x' },
  { [1.5] = {} },
  vim.NIL,
  function() end,
}
for i = 1, 14 do
  local opts = odd[i]
  for _, name in ipairs(vim.fn.reverse(vim.split(path, '.', { plain = true }))) do
    opts = { [tonumber(name) or name] = opts }
  end
  local ok, err = pcall(config.setup, opts)
  if not ok then raised[#raised + 1] = ('%s, value %d: %s'):format(path, i, err) end
  for _, mistake in ipairs(config.mistakes) do
    if mistake:find('\n') then many[#many + 1] = mistake end
  end
end
config.setup({})
return { raised, many }
