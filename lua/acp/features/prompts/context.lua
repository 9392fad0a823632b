--- Context of a prompt: directory, lines of buffers, mentioned files, variables.
local M = {}

local mentions_of, places = require('acp.base.text.mentions'), require('acp.base.places')

--- Return the attached files and ranges of composer `n`. The module of attachments is loaded only
--- if needed, since most prompts have none.
---@param n? integer
---@return string[]
---@return acp.Chip[]
local function attachments_of(n)
  local attachments = n and package.loaded['acp.features.prompts.attachments']
  if not attachments then return {}, {} end
  return attachments.list(n), attachments.chips(n)
end

---@class acp.UntypedParts
---@field files string[] mentioned files, absolute
---@field ranges { path: string, first: integer, last: integer }[] mentioned lines
---@field variables { name: string, files: string[] }[]

--- Return the mentions and the variables in texts that the user did not type.
---@param mentions acp.MentionedFiles
---@param variables acp.Variable[]
---@param foreign string[]
---@return acp.UntypedParts|nil
local function find_untyped(mentions, variables, foreign, cwd)
  local variables_of = require('acp.features.prompts.composer.variables')
  local in_foreign, named = {}, {} ---@type table<string, true>, table<string, true>
  for _, text in ipairs(foreign) do
    local mentioned = mentions_of.all(text, cwd)
    local paths = vim.tbl_map(function(range) return range.path end, mentioned.ranges)
    for _, path in ipairs(vim.list_extend(paths, mentioned.paths)) do
      in_foreign[path] = true
    end
    named = vim.tbl_extend('keep', named, variables_of.names_in(text))
  end
  local not_typed = {
    files = vim.tbl_filter(function(path) return in_foreign[path] end, mentions.paths),
    ranges = vim.tbl_filter(function(range) return in_foreign[range.path] end, mentions.ranges),
    variables = vim
      .iter(variables)
      :filter(function(variable) return named[variable.name] end)
      :map(
        function(variable)
          return { name = variable.name, files = variables_of.files(variable.name) }
        end
      )
      :totable(),
  }
  local any = not_typed.files[1] or not_typed.ranges[1] or not_typed.variables[1]
  return any and not_typed or nil
end

---@param missing string[]
local function report_missing(missing)
  local names = table.concat(vim.tbl_map(require('acp.base.paths').on_one_line, missing), ', ')
  require('acp.base.notify').show('warn', 'mention_missing', names)
end

--- Add the mentioned lines to ranges that do not contain them. Lines that a file does not have
--- become missing mentions.
---@param ranges acp.Range[] changed in place
---@param mentions acp.MentionedFiles changed in place
local function add_mentioned(ranges, mentions)
  for _, mentioned in ipairs(mentions.ranges) do
    local range =
      require('acp.features.prompts.chips').range(mentioned.path, mentioned.first, mentioned.last)
    local function is_same(other)
      return other.path == range.path and other.first == range.first and other.last == range.last
    end
    if not range then
      table.insert(mentions.missing, '@' .. places.label(mentioned))
    else
      mentioned.last = range.last
      if not vim.iter(ranges):any(is_same) then table.insert(ranges, range) end
    end
  end
end

--- Return the arguments of the verb `prompt` for a text, except the session. Show a message about
--- mentions that name no file.
---@param chips? acp.Chip[] further ranges
---@param n? integer composer whose attachments are included
---@param more? string[] further files, absolute
---@param foreign? string[] texts that the user did not type and that may be part of the text
---@return table args
function M.prompt(text, chips, n, more, foreign)
  local cwd = places.cwd()
  local paths, attached_chips = attachments_of(n)
  local ranges = vim.tbl_map(
    require('acp.features.prompts.chips').resolve,
    vim.list_extend(attached_chips, chips or {})
  )
  local mentions = mentions_of.all(text, cwd)
  add_mentioned(ranges, mentions)
  if mentions.missing[1] then report_missing(mentions.missing) end
  local variables = text:find('{', 1, true)
      and require('acp.features.prompts.composer.variables').variables_in(text, n)
    or {}
  local not_typed = foreign and foreign[1] and find_untyped(mentions, variables, foreign, cwd)
  for _, path in ipairs(vim.list_extend(mentions.paths, more or {})) do
    if not vim.tbl_contains(paths, path) then paths[#paths + 1] = path end
  end
  return {
    text = text,
    cwd = cwd,
    range = ranges[#ranges],
    ranges = #ranges > 1 and ranges or nil,
    untyped = not_typed or nil,
    attach = paths[1] and require('acp.features.prompts.attachments').with_unsaved_text(paths)
      or nil,
    variables = #variables > 0 and variables or nil,
  }
end

--- Return the same for a text that the user typed. A message names variables without a value.
---@param chips? acp.Chip[]
---@param n? integer
---@param foreign? string[]
---@return table args
function M.typed_prompt(text, chips, n, foreign)
  local args = M.prompt(text, chips, n, nil, foreign)
  local empty = text:find('{', 1, true)
      and require('acp.features.prompts.composer.variables').without_value(
        text,
        args.variables or {}
      )
    or {}
  if empty[1] then
    require('acp.base.notify').show('info', 'variables_empty', table.concat(empty, ', '))
  end
  return args
end

return M
