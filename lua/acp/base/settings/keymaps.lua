--- Validation of the option `keymaps`, and merging of the user's keys over the defaults.
local M = {}

local sorted_keys = require('acp.base.sorted_keys')
local message = require('acp.base.text.nearest').message

---@param path string full name of an option
---@param what string
local function should_be(path, what)
  return require('acp.base.messages').option_should:format(path, what)
end

--- Return the action of a key and its modes.
---@param value any
---@return string|false|nil action nil if `value` is invalid
---@return string[] modes
function M.parts(value)
  if value == false then return false, { 'n' } end
  if type(value) == 'string' then return value, { 'n' } end
  if type(value) ~= 'table' or type(value[1]) ~= 'string' then return nil, {} end
  local mode = value.mode or 'n'
  return value[1], type(mode) == 'table' and mode or { mode }
end

--- Return the actions of a window: those of its default keys, and `help`.
---@param keys table<string, any>
---@return table<string, true>
local function actions_of(keys)
  local actions = { help = true }
  for _, value in pairs(keys) do
    actions[M.parts(value)] = true
  end
  return actions
end

---@param known table<string, true>
---@return string|nil mistake
local function mistake(known, path, value)
  local action, modes = M.parts(value)
  if action == nil then return should_be(path, 'an action, { action, mode = … } or false') end
  if action and not known[action] then
    return message("action of '" .. path .. "'", action, sorted_keys(known))
  end
  for _, mode in ipairs(modes) do
    if not vim.tbl_contains({ 'n', 'i', 'x', 'v', 's', 'o' }, mode) then
      return require('acp.base.messages').option_mode:format(path, tostring(mode))
    end
  end
end

--- Merge the keys of one window over the defaults. Spellings of the same key are treated as equal.
---@param base table<string, any>
---@param given table<string, any>
---@param report fun(message: string)
---@return table<string, any>
local function merge_window(base, given, window, report)
  local result = vim.deepcopy(base)
  local spelled, known = {}, actions_of(base)
  for key in pairs(base) do
    spelled[vim.keycode(key)] = key
  end
  for key, value in pairs(given) do
    local path = ('keymaps.%s[%s]'):format(window, tostring(key))
    local wrong = type(key) ~= 'string' and should_be(path, 'named by a key')
      or mistake(known, path, value)
    if wrong then
      report(wrong)
    else
      local same = spelled[vim.keycode(key)]
      if same then result[same] = nil end
      result[key] = value
    end
  end
  return result
end

--- Merge the user's `keymaps` over the defaults. `false` for one window, or for all, removes the
--- keys.
---@param base table
---@param given any
---@param report fun(message: string)
---@return table|false
function M.merge(base, given, report)
  if given == false then return false end
  if type(given) ~= 'table' then
    report(should_be('keymaps', 'a table or false'))
    return vim.deepcopy(base)
  end
  local result = vim.deepcopy(base)
  for window, keys in pairs(given) do
    if window == 'preset' then
      if type(keys) == 'boolean' or (type(keys) == 'string' and keys ~= '') then
        result.preset = keys
      else
        report(should_be('keymaps.preset', 'true, false or the keys that begin each map'))
      end
    elseif not base[window] then
      local names = vim.tbl_map(function(name) return 'keymaps.' .. name end, sorted_keys(base))
      report(message('option', 'keymaps.' .. tostring(window), names))
    elseif keys == false then
      result[window] = false
    elseif type(keys) ~= 'table' then
      report(should_be('keymaps.' .. window, 'a table or false'))
    else
      result[window] = merge_window(base[window], keys, window, report)
    end
  end
  return result
end

return M
