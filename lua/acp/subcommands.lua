--- The subcommands of `:Acp`: one table that says what each takes and does.
local M = {}

---@class acp.Subcommand
---@field run fun(args: string[], opts: table) `opts` are Neovim's, and `rest`: the text as typed
---@field values? fun(args: string[], lead: string): string[] what may stand next, after `args`
---@field strict? boolean a value that is not among them is an error (when any is known)
---@field max? integer most arguments, 0 by default; -1: any
---@field need? string what is missing when there is no argument

---@param verb string
---@param args? table
local function notify(verb, args)
  require('acp.host').notify(verb, args or {})
end

---@param list string[]
---@return fun(args: string[]): string[]
local function first(list)
  return function(args)
    return #args == 0 and list or {}
  end
end

---@param name string
---@return fun(args: string[], lead: string): string[]
local function known(name)
  return function(args, lead)
    return #args == 0 and require('acp.known')[name](lead) or {}
  end
end

---@param path string|nil
---@return string|nil
local function absolute(path)
  return path and require('acp.context').absolute({ path })[1] or nil
end

--- Nothing of this can be going on while the host does not run: say so instead of starting it.
---@param message string
---@param fn fun(args: string[], opts: table)
---@return fun(args: string[], opts: table)
local function when_running(message, fn)
  return function(args, opts)
    if require('acp.host').running() then
      fn(args, opts)
    else
      require('acp.notify').echo('info', message)
    end
  end
end

--- Text that will be shown in a window, which may take the focus while the user waits.
---@param fn fun(args: string[], opts: table)
---@return fun(args: string[], opts: table)
local function shown(fn)
  return function(args, opts)
    require('acp.show').expect()
    fn(args, opts)
  end
end

---@type table<string, acp.Subcommand>
local list = {}

list.prompt = {
  max = -1,
  run = function(_, opts)
    require('acp.command').prompt(vim.tbl_extend('force', opts, { args = opts.rest }))
  end,
}

list.cancel = {
  run = function(_, opts)
    require('acp.command').cancel(opts)
  end,
}

list.chat = {
  run = function()
    require('acp.chat').toggle(require('acp.composer').default())
  end,
}

list.plan = {
  run = function()
    require('acp.plan').toggle(require('acp.composer').default())
  end,
}

list.new = {
  max = 1,
  values = known('agents'),
  strict = true,
  run = function(args)
    notify('new', { agent = args[1], cwd = require('acp.context').cwd() })
  end,
}

list.queue = {
  max = 1,
  values = first({ 'edit', 'run', 'clear' }),
  strict = true,
  run = when_running('the queue is empty', function(args)
    if (args[1] or 'edit') == 'edit' then
      require('acp.queue').edit()
    else
      notify('queue', { action = args[1] })
    end
  end),
}

list.sessions = {
  run = function()
    notify('sessions', { cwd = require('acp.context').cwd() })
  end,
}

list.agent = {
  max = 1,
  values = known('agents'),
  strict = true,
  run = function(args)
    notify('agent', { name = args[1] })
  end,
}

for _, verb in ipairs({ 'restart', 'stop' }) do
  list[verb] = {
    max = 1,
    values = known('started'),
    strict = true,
    run = when_running('no agent is running', function(args)
      notify(verb, { agent = args[1] })
    end),
  }
end

list.login = {
  max = 1,
  values = known('auth_methods'),
  strict = true,
  run = function(args)
    notify('login', { method = args[1] })
  end,
}

list.logout = {
  run = when_running('no agent is running', function()
    notify('logout')
  end),
}

list.mode = {
  max = 1,
  values = known('modes'),
  strict = true,
  run = when_running('no session', function(args)
    notify('mode', { id = args[1] })
  end),
}

list.model = {
  max = 1,
  strict = true,
  values = function(args)
    local valid = require('acp.known')
    return #args == 0 and valid.option_values(valid.model_option()) or {}
  end,
  run = when_running('no session', function(args)
    notify('option', { id = require('acp.known').model_option(), value = args[1] })
  end),
}

list.option = {
  max = 2,
  strict = true,
  values = function(args)
    local valid = require('acp.known')
    return #args == 0 and valid.option_ids() or valid.option_values(args[1])
  end,
  run = when_running('no session', function(args)
    local value = args[2] and require('acp.known').option_value(args[1], args[2])
    notify('option', { id = args[1], value = value })
  end),
}

for _, verb in ipairs({ 'allow', 'deny' }) do
  list[verb] = {
    max = 1,
    values = known('permission_options'),
    strict = true,
    run = when_running('no pending permission', function(args)
      notify(verb, { option = args[1] })
    end),
  }
end

list.permissions = {
  run = when_running(
    'no pending permission',
    shown(function()
      if not require('acp.permission').enter() then
        notify('permissions')
      end
    end)
  ),
}

list.review = {
  max = 1,
  values = known('files'),
  run = when_running('no pending edits', function(args)
    notify('review', { path = absolute(args[1]) })
  end),
}

for _, verb in ipairs({ 'accept', 'reject' }) do
  list[verb] = {
    max = 1,
    values = first({ 'hunk', 'file', 'all' }),
    strict = true,
    run = when_running('no pending edits', function(args)
      require('acp.hunk').decide(verb, args[1] or 'hunk')
    end),
  }
end

list.unreject = {
  run = when_running('nothing was rejected', function()
    notify('unreject')
  end),
}

list.edits = {
  run = when_running('no pending edits', function()
    notify('edits')
  end),
}

list.comment = {
  max = -1,
  need = 'text',
  run = function(_, opts)
    local args = require('acp.hunk').here()
    args.text = opts.rest
    notify('comment', args)
  end,
}

list.checkpoints = {
  run = when_running(
    'no checkpoints',
    shown(function()
      notify('checkpoints')
    end)
  ),
}

list.restore = {
  max = 1,
  run = when_running('no checkpoints', function(args)
    local n = args[1] and tonumber(args[1])
    if args[1] and (not n or n < 1 or n % 1 ~= 0) then
      require('acp.notify').error(
        ("restore takes the number of a prompt, not '%s'"):format(args[1])
      )
      return
    end
    notify('restore', { n = n })
  end),
}

list.follow = {
  run = function()
    notify('follow', { win = vim.api.nvim_get_current_win() })
  end,
}

--- Paths that can be read, and those that cannot.
---@param args string[]
---@return string[] paths
---@return string[] missing
local function readable(args)
  local paths, missing = {}, {}
  for i, path in ipairs(require('acp.context').absolute(args)) do
    if vim.uv.fs_stat(path) then
      paths[#paths + 1] = path
    else
      missing[#missing + 1] = args[i]
    end
  end
  return paths, missing
end

list.attach = {
  max = -1,
  need = 'a file, or - for the clipboard image',
  values = function(_, lead)
    return vim.list_extend(lead == '' and { '-' } or {}, require('acp.known').files(lead))
  end,
  run = function(args)
    if #args == 1 and args[1] == '-' then
      notify('attach', { clipboard = true, cwd = require('acp.context').cwd() })
      return
    end
    local paths, missing = readable(args)
    if #missing > 0 then
      local siblings = require('acp.known').files(vim.fn.fnamemodify(missing[1], ':h') .. '/')
      siblings = vim.tbl_map(function(path)
        return (path:gsub('^%./', ''))
      end, siblings)
      require('acp.notify').error(require('acp.nearest').message('file', missing[1], siblings))
      return
    end
    notify('attach', { paths = paths, cwd = require('acp.context').cwd() })
  end,
}

list.terminals = {
  run = when_running('no terminals', function()
    notify('terminals')
  end),
}

list.export = {
  max = 1,
  values = known('files'),
  run = when_running(
    'no session to export',
    shown(function(args)
      notify('export', { file = absolute(args[1]) })
    end)
  ),
}

list.info = {
  run = shown(function()
    notify('info')
  end),
}

list.log = {
  max = 2,
  values = function(args, lead)
    if #args == 0 then
      return vim.list_extend({ 'save' }, require('acp.known').started())
    end
    return args[1] == 'save' and require('acp.known').files(lead) or {}
  end,
  run = shown(function(args)
    if args[1] == 'save' then
      if not args[2] then
        require('acp.notify').error('log save needs a file')
      else
        notify('log_save', { file = absolute(args[2]) })
      end
    elseif args[1] and not vim.tbl_contains(require('acp.known').started(), args[1]) then
      local names = vim.list_extend({ 'save' }, require('acp.known').started())
      require('acp.notify').error(require('acp.nearest').message('argument of log', args[1], names))
    else
      notify('log', { agent = args[1] })
    end
  end),
}

list.tutor = {
  run = function()
    notify('tutor', { cwd = require('acp.context').cwd() })
  end,
}

list.install = {
  run = function()
    require('acp.install').run()
  end,
}

M.list = list

--- Names of all subcommands, sorted.
---@return string[]
function M.names()
  local names = vim.tbl_keys(list)
  table.sort(names)
  return names
end

return M
