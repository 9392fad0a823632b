--- Variables in a prompt, `{name}` or `@{name}`: editor context, resolved when the prompt is sent.
--- `{one|other}` means the first of its variables that has a value. The prompt's text is never
--- changed. Each variable is sent as a separate text.
local M = {}

---@class acp.Variable
---@field name string
---@field text string

local values = require('acp.features.prompts.composer.values')

--- Return the names of all variables, sorted.
---@return string[]
function M.names() return require('acp.base.sorted_keys')(values.about) end

--- Return the references to variables in a text, each with its alternatives.
---@param text string
---@return string[][]
local function references(text)
  local list = {}
  local masked = require('acp.base.paths').hide_quoted(text) -- `@\{this}` is a file name
  for reference in masked:gmatch('{([%l:|]+)}') do
    local names = vim.split(reference, '|', { plain = true })
    local are_known = vim.iter(names):all(function(name) return values.about[name] ~= nil end)
    if are_known then list[#list + 1] = names end
  end
  return list
end

--- Return the names of the variables that a text refers to.
---@param text string
---@return table<string, true>
function M.names_in(text)
  local set = {} ---@type table<string, true>
  for _, names in ipairs(references(text)) do
    for _, name in ipairs(names) do
      set[name] = true
    end
  end
  return set
end

--- Return the first of some variables that has a value. The host completes the value of others.
---@param names string[]
---@param win integer the user's window, which the values describe
---@param path fun(path: string): string form of a path for the agent
---@return acp.Variable|nil
local function first_with_value(names, win, path)
  for _, name in ipairs(names) do
    local text, from_host = values.value(name, win, path)
    if text ~= '' or from_host then return { name = name, text = text } end
  end
end

--- Return the variables in a text, each once and in the text's order, without empty ones.
---@param text string
---@param n? integer session that gets them, the current one by default
---@return acp.Variable[]
function M.variables_in(text, n)
  local list, seen = {}, {}
  local path = require('acp.base.places').for_agent(n)
  local win ---@type integer|nil looked up only if there are references
  for _, names in ipairs(references(text)) do
    win = win or require('acp.ui.win').work()
    local variable = first_with_value(names, win, path)
    if variable and not seen[variable.name] then
      seen[variable.name] = true
      list[#list + 1] = variable
    end
  end
  return list
end

--- Return the references in a text that have no value, each once and in the text's order.
---@param text string
---@param variables acp.Variable[] those of the text
---@return string[]
function M.without_value(text, variables)
  local list, has_value = {}, {}
  for _, variable in ipairs(variables) do
    has_value[variable.name] = true
  end
  for _, names in ipairs(references(text)) do
    local reference = '{' .. table.concat(names, '|') .. '}'
    local is_empty = not vim.iter(names):any(function(name) return has_value[name] end)
    if is_empty and not vim.tbl_contains(list, reference) then list[#list + 1] = reference end
  end
  return list
end

--- Return the files whose text a variable contains, '' for a buffer without a file.
---@param name string
---@return string[] paths
function M.files(name) return values.files(name, require('acp.ui.win').work()) end

---@class acp.VariableCompletion
---@field name string
---@field word string text to insert
---@field about string

--- Return completions of a variable, or of the last of several alternatives.
---@param base string text before the cursor, from `{` or `@{`; it may still be `@`
---@return acp.VariableCompletion[]
function M.completions(base)
  local mark = base:sub(1, 1) == '{' and '{' or '@{'
  if not vim.startswith(mark, base:sub(1, #mark)) then return {} end
  local lead = base:match('^(.*|)') or mark
  local by_word = {} ---@type table<string, acp.VariableCompletion>
  for name, about in pairs(values.about) do
    local word = lead .. name .. '}'
    by_word[word] = { name = name, word = word, about = about }
  end
  local words = require('acp.base.sorted_keys')(by_word)
  return vim.tbl_map(
    function(word) return by_word[word] end,
    require('acp.base.valid_names').matching(words, base)
  )
end

--- Return the current value of a variable and whether the host completes it.
---@param name string
---@param n? integer session that gets it, the current one by default
---@return string
---@return boolean from_host
function M.value(name, n)
  return values.value(name, require('acp.ui.win').work(), require('acp.base.places').for_agent(n))
end

return M
