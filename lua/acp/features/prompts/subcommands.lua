--- Subcommands for prompts, the queue and attachments.
local subcommand, valid_names = require('acp.ui.subcommand'), require('acp.base.valid_names')

---@type table<string, acp.Subcommand>
local M = {}

for _, name in ipairs({ 'prompt', 'send' }) do
  M[name] = {
    max = -1,
    run = function(_, opts)
      local command = require('acp.features.prompts.commands')[name]
      command(vim.tbl_extend('force', opts, { args = opts.rest }))
    end,
  }
end

M.cancel = {
  run = function(_, opts) require('acp.features.prompts.commands').cancel(opts) end,
}

M.queue = {
  max = 1,
  values = subcommand.first_argument({ 'edit', 'run', 'clear' }),
  strict = true,
  run = function(args)
    require('acp.features.prompts.drafts').restore()
    require('acp.features.prompts.queue').run(args[1] or 'edit')
  end,
}

--- Return the paths that exist, the arguments that name no file, and whether one means the image in
--- the clipboard.
---@return string[] paths
---@return string[] missing
---@return boolean clipboard
local function split_existing(args)
  local paths, missing, clipboard = {}, {}, false
  for _, word in ipairs(args) do
    local path = require('acp.base.paths').resolve_typed(word)
    if word == '-' then
      clipboard = true
    elseif vim.uv.fs_stat(path) then
      paths[#paths + 1] = path
    else
      missing[#missing + 1] = word
    end
  end
  return paths, missing, clipboard
end

M.attach = {
  max = -1,
  paths = true,
  values = function(_, lead)
    return vim.list_extend(lead == '' and { '-' } or {}, valid_names.files(lead))
  end,
  run = function(args, opts)
    local attachments = require('acp.features.prompts.attachments')
    if #args == 0 then
      local is_list = require('acp.features.prompts.attach').from_list(opts.line1, opts.line2)
      if not is_list then attachments.manage() end
      return
    end
    local paths, missing, clipboard = split_existing(args)
    if #missing > 0 then
      local siblings = valid_names.files(missing[1]:match('^.*/') or '')
      local mistake = require('acp.base.text.nearest').message('file', missing[1], siblings)
      return require('acp.base.notify').error(mistake)
    end
    if clipboard then attachments.from_clipboard() end
    if paths[1] then attachments.add(nil, paths) end
  end,
}

return M
