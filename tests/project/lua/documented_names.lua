--- Return all names that the manual documents.
local config = require('acp.config')
local plugs = vim.tbl_filter(
  function(map) return map.lhs:find('^<Plug>%(acp%-') ~= nil end,
  vim.list_extend(vim.api.nvim_get_keymap('n'), vim.api.nvim_get_keymap('x'))
)
return {
  commands = vim.tbl_filter(
    function(name) return vim.startswith(name, 'Acp') end,
    vim.tbl_keys(vim.api.nvim_get_commands({}))
  ),
  subcommands = require('acp.features').names('subcommands'),
  operations = require('acp.frame').names(),
  plugs = vim.tbl_map(function(map) return map.lhs end, plugs),
  functions = vim.list_extend(
    vim.tbl_keys(require('acp')),
    require('acp.features').names('functions')
  ),
  defaults = vim.json.encode(config.defaults),
  optional = config.optional,
}
