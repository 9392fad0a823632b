--- Subcommands for questions, pending edits and checkpoints.
local spec = require('acp.command.subcommands.spec')

local notify, known, shown = spec.notify, spec.known, spec.shown
local when_running, when_kept = spec.when_running, spec.when_kept

---@type table<string, acp.Subcommand>
local list = {}

for _, verb in ipairs({ 'allow', 'deny' }) do
  local run = when_running(
    'no_permission',
    function(args) require('acp.features.permissions.decide').command(verb, args[1]) end
  )
  local function values(args)
    if #args > 0 then return {} end
    return require('acp.features.permissions.decide').option_ids()
  end
  list[verb] = { max = 1, values = values, strict = true, run = run }
end

list.permissions = {
  run = when_running(
    'no_permission',
    shown(function()
      if not require('acp.features.permissions.float').enter() then notify('permissions') end
    end)
  ),
}

--- Return an error for a path that neither exists nor has pending edits, with the nearest pending
--- file.
---@param path string|nil absolute path of `typed`
---@return string|nil mistake
local function check_file(typed, path)
  local pending = require('acp.base.valid_names').pending_paths()
  if not path or #pending == 0 or vim.tbl_contains(pending, path) or vim.uv.fs_stat(path) then
    return nil
  end
  local names = vim.tbl_map(
    function(one) return require('acp.base.paths').argument(vim.fn.fnamemodify(one, ':.')) end,
    pending
  )
  return require('acp.base.nearest').message('file', typed --[[@as string]], names)
end

list.review = {
  max = 1,
  paths = true,
  values = known('pending_files'),
  run = when_kept('no_edits', function(args)
    local path = spec.absolute(args[1])
    local mistake = check_file(args[1], path)
    if mistake then
      require('acp.base.notify').error(mistake)
    else
      require('acp.features.review.actions').ask(path)
    end
  end),
}

for _, verb in ipairs({ 'accept', 'reject' }) do
  list[verb] = {
    max = 1,
    values = spec.first({ 'hunk', 'file', 'all' }),
    strict = true,
    run = when_kept(
      'no_edits',
      function(args) require('acp.features.review.hunk').decide(verb, args[1] or 'hunk') end
    ),
  }
end

list.unreject = {
  run = when_kept('nothing_rejected', function() notify('unreject') end),
}

--- Verbs of `:Acp edits {action}`, for edits that are not in the files.
local of_edits = { parked = 'parked', drop = 'drop_parked' }

list.edits = {
  max = 2,
  paths = true,
  values = spec.first({ 'parked', 'drop' }),
  strict = true,
  run = when_kept('no_edits', function(args)
    local verb = not args[1] and 'edits' or of_edits[args[1]]
    notify(verb, { path = spec.absolute(args[2]) })
  end),
}

list.comment = {
  max = -1,
  need = 'text',
  run = function(_, opts) require('acp.features.review.comment').add(opts.rest) end,
}

list.checkpoints = {
  run = when_kept('no_checkpoints', shown(function() notify('checkpoints') end)),
}

--- Parse the number of a prompt. Return nil if none was typed; show an error if it is not valid.
---@param name string name of the subcommand in messages
---@return integer|nil n, boolean ok
local function prompt_number(name, typed)
  local n = typed and tonumber(typed)
  if not typed or (n and n >= 1 and n % 1 == 0) then return n, true end
  local numbers = require('acp.base.valid_names').checkpoints()
  local hint = require('acp.base.nearest').hint(typed, numbers)
  local message = require('acp.base.messages').takes_prompt_number
  require('acp.base.notify').error(message:format(name, typed, hint))
  return nil, false
end

list.restore = {
  max = 1,
  bang = true,
  values = known('checkpoints'),
  run = when_kept('no_checkpoints', function(args, opts)
    local n, ok = prompt_number('Restore', args[1])
    if ok then notify('restore', { n = n, every = opts.bang or nil }) end
  end),
}

list.rewind = {
  max = 1,
  values = known('checkpoints'),
  run = when_kept('no_checkpoints', function(args)
    local n, ok = prompt_number('Rewind', args[1])
    if ok then notify('rewind', { n = n }) end
  end),
}

list.follow = {
  run = function() require('acp.features.follow.window').toggle() end,
}

return list
