--- Context of a prompt: directory, lines of buffers, mentioned files, variables.
local M = {}

local mentions_of, places = require('acp.base.text.mentions'), require('acp.base.places')

--- Return the attached files and ranges of composer `n`. The module of attachments is loaded only
--- if needed, since most prompts have none.
---@param n? integer
---@return string[]
---@return acp.Chip[]
local function attached(n)
  local attachments = n and package.loaded['acp.features.prompts.attachments']
  if not attachments then return {}, {} end
  return attachments.list(n), attachments.chips(n)
end

---@class acp.Untyped
---@field files string[] mentioned files, absolute
---@field variables { name: string, files: string[] }[]

--- Return the mentioned files and the variables that occur in texts which the user did not type.
---@param mentions string[]
---@param variables acp.Variable[]
---@param foreign string[]
---@return acp.Untyped|nil
local function untyped(mentions, variables, foreign, cwd)
  local variables_of = require('acp.features.prompts.composer.variables')
  local in_foreign, named = {}, {} ---@type table<string, true>, table<string, true>
  for _, text in ipairs(foreign) do
    for _, path in ipairs((mentions_of.paths(text, cwd))) do
      in_foreign[path] = true
    end
    named = vim.tbl_extend('keep', named, variables_of.named(text))
  end
  local not_typed = {
    files = vim.tbl_filter(function(path) return in_foreign[path] end, mentions),
    variables = vim
      .iter(variables)
      :filter(function(one) return named[one.name] end)
      :map(function(one) return { name = one.name, files = variables_of.files(one.name) } end)
      :totable(),
  }
  return (not_typed.files[1] or not_typed.variables[1]) and not_typed or nil
end

---@param missing string[]
local function say_missing(missing)
  local names = table.concat(vim.tbl_map(require('acp.base.paths').spelled, missing), ', ')
  local message = require('acp.base.messages').mention_missing:format(names)
  require('acp.base.notify').echo('warn', message)
end

--- Return the arguments of the verb `prompt` for a text, except the session.
---@param chips? acp.Chip[] further ranges
---@param n? integer composer whose attachments are included
---@param more? string[] further files, absolute
---@param foreign? string[] texts that the user did not type and that may be part of the text
---@return table args
function M.prompt(text, chips, n, more, foreign)
  local cwd = places.cwd()
  local paths, attached_chips = attached(n)
  local ranges = vim.tbl_map(
    require('acp.features.prompts.chips').resolve,
    vim.list_extend(attached_chips, chips or {})
  )
  local mentions, missing = mentions_of.paths(text, cwd)
  if missing[1] then say_missing(missing) end
  local variables = text:find('{', 1, true)
      and require('acp.features.prompts.composer.variables').used(text)
    or {}
  local not_typed = foreign and foreign[1] and untyped(mentions, variables, foreign, cwd)
  for _, path in ipairs(vim.list_extend(mentions, more or {})) do
    if not vim.tbl_contains(paths, path) then paths[#paths + 1] = path end
  end
  return {
    text = text,
    cwd = cwd,
    range = ranges[#ranges],
    ranges = #ranges > 1 and ranges or nil,
    untyped = not_typed or nil,
    attach = paths[1] and require('acp.features.prompts.attachments').carried(paths) or nil,
    variables = #variables > 0 and variables or nil,
  }
end

return M
