--- Subcommands for checkpoints.
local subcommand = require('acp.ui.subcommand')

local notify, when_kept = subcommand.notify, subcommand.when_stored

---@type table<string, acp.Subcommand>
local M = {}

M.checkpoints = {
  run = when_kept('no_checkpoints', subcommand.with_report(function() notify('checkpoints') end)),
}

--- Parse the number of a prompt. Return nil if none was typed; show an error if it is not valid.
---@param name string name of the subcommand in messages
---@return integer|nil n, boolean ok
local function prompt_number(name, typed)
  local n = typed and tonumber(typed)
  if not typed or (n and n >= 1 and n % 1 == 0) then return n, true end
  local numbers = require('acp.base.valid_names').checkpoints()
  local hint = require('acp.base.text.nearest').hint(typed, numbers)
  require('acp.base.notify').show('error', 'takes_prompt_number', name, typed, hint)
  return nil, false
end

M.restore = {
  max = 1,
  bang = true,
  values = subcommand.names_of('checkpoints'),
  run = when_kept('no_checkpoints', function(args, opts)
    local n, ok = prompt_number('Restore', args[1])
    if ok then notify('restore', { n = n, every = opts.bang or nil }) end
  end),
}

M.rewind = {
  max = 1,
  values = subcommand.names_of('checkpoints'),
  run = when_kept('no_checkpoints', function(args)
    local n, ok = prompt_number('Rewind', args[1])
    if ok then notify('rewind', { n = n }) end
  end),
}

return M
