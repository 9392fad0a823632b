--- Choices of the mode and the options of the current session. The names come from cached state;
--- only the choice is sent to the host.
local M = {}

local choices = require('acp.ui.choices')
local notify = require('acp.ui.subcommand').notify
local valid_names = require('acp.base.valid_names')

--- Choose the mode of the current session.
function M.mode()
  local session, shown = valid_names.session(), valid_names.session_number()
  local modes = session and session.modes or { available = {} }
  local list = vim.tbl_map(
    function(mode)
      return {
        label = choices.label(mode.name or mode.id, mode.description),
        value = mode.id,
        current = mode.id == modes.current,
      }
    end,
    modes.available
  )
  choices.choose('Mode', 'mode', list, function(id) notify('mode', { id = id, shown = shown }) end)
end

--- Return the values of a config option as choices. A value in a group is prefixed with the group's
--- name.
---@return acp.Choice[]
local function values(option)
  if option.type == 'boolean' then
    return {
      { label = 'on', value = true, current = option.currentValue == true },
      { label = 'off', value = false, current = option.currentValue == false },
    }
  end
  local list = {}
  for _, item in ipairs(option.options or {}) do
    for _, choice in ipairs(item.options or { item }) do
      local name = item.options and ('%s / %s'):format(item.name, choice.name) or choice.name
      list[#list + 1] = {
        label = choices.label(name or choice.value, choice.description),
        value = choice.value,
        current = choice.value == option.currentValue,
      }
    end
  end
  return list
end

--- Choose the value of a config option of the current session.
---@param id string
function M.value(id)
  local option, shown = valid_names.config_option(id) or {}, valid_names.session_number()
  local function set(value) notify('option', { id = id, value = value, shown = shown }) end
  choices.choose(option.name or id, id, values(option), set)
end

--- Choose a config option of the current session and then its value.
function M.option()
  local list = vim.tbl_map(function(option)
    local now = vim.tbl_filter(function(choice) return choice.current end, values(option))[1]
    local label = choices.label(option.name or option.id, now and now.label)
    return { label = label, value = option.id }
  end, valid_names.config_options())
  local all = valid_names.options_and_provider()
  local has_provider = #all > #list
  if has_provider then list[#list + 1] = { label = 'provider', value = 'provider' } end
  choices.choose('Option', 'option', list, function(id)
    if has_provider and id == 'provider' then return notify('provider') end
    M.value(id)
  end)
end

return M
