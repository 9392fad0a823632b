--- Context of a prompt: directory, lines of buffers, mentioned files, variables.
local M = {}

local mentions_of, places = require('acp.base.text.mentions'), require('acp.base.places')

local ns = vim.api.nvim_create_namespace('acp.context')

---@class acp.Chip
---@field bufnr integer
---@field mark integer
---@field lost acp.Range the range at creation, used if the buffer is unloaded

--- Create a range that follows the edits of its buffer until it is sent.
---@return acp.Chip
function M.chip(bufnr, first, last)
  local range = places.range(bufnr, first, last)
  local mark = vim.api.nvim_buf_set_extmark(bufnr, ns, first - 1, 0, {
    end_row = math.min(last, vim.api.nvim_buf_line_count(bufnr)) - 1,
    end_right_gravity = true,
  })
  return { bufnr = bufnr, mark = mark, lost = range }
end

--- Create chips for the ranges whose buffers are still loaded.
---@param ranges { path: string, first: integer, last: integer }[]
---@return acp.Chip[]
function M.chips(ranges)
  local found = {}
  for _, range in ipairs(ranges) do
    local nameless = tonumber(range.path:match('^nvim://buffer/(%d+)$'))
    local bufnr = nameless or vim.fn.bufexists(range.path) == 1 and vim.fn.bufadd(range.path) or -1
    if vim.api.nvim_buf_is_loaded(bufnr) and range.first <= vim.api.nvim_buf_line_count(bufnr) then
      found[#found + 1] = M.chip(bufnr, range.first, range.last)
    end
  end
  return found
end

--- Create a chip for a range saved by an earlier Neovim.
---@param range acp.Range
---@return acp.Chip
function M.fixed_chip(range) return { bufnr = -1, mark = 0, lost = range } end

--- Return the current range of a chip.
---@param chip acp.Chip
---@return acp.Range
function M.resolve(chip)
  if not vim.api.nvim_buf_is_loaded(chip.bufnr) then return chip.lost end
  local at = vim.api.nvim_buf_get_extmark_by_id(chip.bufnr, ns, chip.mark, { details = true })
  if not at[1] then return chip.lost end
  return places.range(chip.bufnr, at[1] + 1, math.max(at[3].end_row, at[1]) + 1)
end

--- Return the attachments of composer `n` and `others`. The module of attachments is loaded only if
--- needed, since most prompts have none.
---@param n? integer
---@param others string[]
---@return string[]
local function files(n, others)
  if not others[1] and not package.loaded['acp.features.prompts.attachments'] then return {} end
  local attachments = require('acp.features.prompts.attachments')
  return attachments.joined(n and attachments.list(n) or {}, others)
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
---@param chips? acp.Chip[]
---@param n? integer composer whose attachments are included
---@param more? string[] further files, absolute
---@param foreign? string[] texts that the user did not type and that may be part of the text
---@return table args
function M.prompt(text, chips, n, more, foreign)
  local cwd = places.cwd()
  local ranges = vim.tbl_map(M.resolve, chips or {})
  local mentions, missing = mentions_of.paths(text, cwd)
  if missing[1] then say_missing(missing) end
  local variables = text:find('{', 1, true)
      and require('acp.features.prompts.composer.variables').used(text)
    or {}
  local not_typed = foreign and foreign[1] and untyped(mentions, variables, foreign, cwd)
  local paths = files(n, vim.list_extend(mentions, more or {}))
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
