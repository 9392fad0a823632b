--- Subcommands for pending edits.
local subcommand = require('acp.ui.subcommand')

local notify, when_kept = subcommand.notify, subcommand.when_stored

---@type table<string, acp.Subcommand>
local M = {}

--- Return an error for a path that neither exists nor has pending edits, with the nearest pending
--- file.
---@param path string|nil absolute path of `typed`
---@return string|nil mistake
local function check_file(typed, path)
  local pending = require('acp.base.valid_names').pending_paths()
  if not path or #pending == 0 or vim.tbl_contains(pending, path) or vim.uv.fs_stat(path) then
    return nil
  end
  local paths = require('acp.base.paths')
  local names = vim.tbl_map(
    function(name) return paths.quote_argument(vim.fn.fnamemodify(name, ':.')) end,
    pending
  )
  return require('acp.base.text.nearest').message('file', typed --[[@as string]], names)
end

M.review = {
  max = 1,
  paths = true,
  values = subcommand.names_of('pending_files'),
  run = when_kept('no_edits', function(args)
    local path = subcommand.absolute(args[1])
    local mistake = check_file(args[1], path)
    if mistake then
      require('acp.base.notify').error(mistake)
    else
      require('acp.features.review.actions').ask(path)
    end
  end),
}

for _, verb in ipairs({ 'accept', 'reject' }) do
  M[verb] = {
    max = 1,
    values = subcommand.first_argument({ 'hunk', 'file', 'all' }),
    strict = true,
    run = when_kept(
      'no_edits',
      function(args) require('acp.features.review.hunk').decide(verb, args[1] or 'hunk') end
    ),
  }
end

M.unreject = {
  run = when_kept('nothing_rejected', function() notify('unreject') end),
}

--- Verbs of `:Acp edits {action}`, for edits that are not in the files.
local PARKED = { parked = 'parked', drop = 'drop_parked' }

M.edits = {
  max = 2,
  paths = true,
  values = subcommand.first_argument({ 'parked', 'drop' }),
  strict = true,
  run = when_kept('no_edits', function(args)
    local verb = not args[1] and 'edits' or PARKED[args[1]]
    notify(verb, { path = subcommand.absolute(args[2]) })
  end),
}

M.comment = {
  max = -1,
  run = function(_, opts) require('acp.features.review.comment').add(opts.rest) end,
}

return M
