--- Subcommands for prompts, attachments and sessions.
local spec, valid = require('acp.command.subcommands.spec'), require('acp.base.valid_names')

local notify = spec.notify

---@type table<string, acp.Subcommand>
local list = {}

list.prompt = {
  max = -1,
  run = function(_, opts)
    require('acp.features.prompts.commands').prompt(
      vim.tbl_extend('force', opts, { args = opts.rest })
    )
  end,
}

list.send = {
  max = -1,
  run = function(_, opts)
    require('acp.features.prompts.commands').send(
      vim.tbl_extend('force', opts, { args = opts.rest })
    )
  end,
}

list.cancel = {
  run = function(_, opts) require('acp.features.prompts.commands').cancel(opts) end,
}

--- Offer the last session of this directory, if a history exists. Called without a current session.
local function offer_last_chat()
  local history = vim.fn.stdpath('data') .. '/acp/history.db'
  if require('acp.config').get().history.enabled and vim.uv.fs_stat(history) then
    spec.shown(function() notify('last_chat', { cwd = require('acp.base.places').cwd() }) end)()
  else
    require('acp.base.notify').echo('info', require('acp.base.messages').no_session)
  end
end

for view, module in pairs({ chat = 'acp.features.chat.view', plan = 'acp.features.plan.view' }) do
  list[view] = {
    run = function()
      local n = require('acp.base.state').get().current
      if view == 'chat' then vim.schedule(require('acp.features.prompts.drafts').recall) end
      if n then
        require(module).toggle(n)
      elseif view == 'chat' then
        offer_last_chat()
      else
        require('acp.base.notify').echo('info', require('acp.base.messages').no_session)
      end
    end,
  }
end

list.new = spec.one_of('agents', 'agent', function(args)
  local cwd = require('acp.base.places').place()
  if cwd then notify('new', { agent = args[1], cwd = cwd }) end
end)

list.queue = {
  max = 1,
  values = spec.first({ 'edit', 'run', 'clear' }),
  strict = true,
  run = function(args)
    require('acp.features.prompts.drafts').recall()
    require('acp.features.prompts.queue').run(args[1] or 'edit')
  end,
}

--- Actions of `:Acp sessions`. Not every agent supports all of them.
local ACTIONS = vim.split('open load resume fork rename close delete archive unarchive', ' ')

list.sessions = {
  max = 1,
  values = spec.first(ACTIONS),
  strict = true,
  run = function(args)
    local cwd = require('acp.base.places').place()
    if cwd then notify('sessions', { cwd = cwd, action = args[1] }) end
  end,
}

--- Return the paths that exist, and the arguments that name no file.
---@return string[] paths
---@return string[] missing
local function existing(args)
  local paths, missing = {}, {}
  for _, word in ipairs(args) do
    local path = require('acp.base.paths').typed(word)
    if vim.uv.fs_stat(path) then
      paths[#paths + 1] = path
    else
      missing[#missing + 1] = word
    end
  end
  return paths, missing
end

list.attach = {
  max = -1,
  paths = true,
  values = function(_, lead)
    return vim.list_extend(lead == '' and { '-' } or {}, valid.files(lead))
  end,
  run = function(args)
    local media = require('acp.features.prompts.attachments')
    if #args == 0 then
      media.manage()
      return
    elseif #args == 1 and args[1] == '-' then
      media.from_clipboard()
      return
    end
    local paths, missing = existing(args)
    if #missing > 0 then
      local siblings = valid.files(missing[1]:match('^.*/') or '')
      local mistake = require('acp.base.nearest').message('file', missing[1], siblings)
      return require('acp.base.notify').error(mistake)
    end
    media.add(nil, paths)
  end,
}

return list
