--- The subcommand `:Acp preset`.
local subcommand = require('acp.ui.subcommand')

---@param name string
---@param shown? integer session that was current when the presets were shown
local function apply(name, shown)
  local presets, messages = require('acp.base.valid_names').presets(), require('acp.base.messages')
  if not vim.tbl_contains(presets, name) then
    local where = messages.see_subcommand:format('preset')
    local mistake = require('acp.base.text.nearest').message('preset', name, presets, where)
    return require('acp.base.notify').error(mistake)
  end
  local cwd = require('acp.base.places').cwd_or_error()
  local instead = require('acp.ui.current').here()
  if not cwd then return end
  subcommand.notify('preset', { name = name, cwd = cwd, instead = instead, shown = shown })
end

--- Return a summary of a preset: agent, model, mode, and the numbers of options and rules.
---@param preset acp.Preset
---@return string
local function summary(preset)
  local parts = {}
  for _, name in ipairs({ 'agent', 'model', 'mode' }) do
    parts[#parts + 1] = preset[name]
  end
  for _, name in ipairs(require('acp.base.sorted_keys')(preset.options or {})) do
    parts[#parts + 1] = ('%s = %s'):format(name, preset.options[name])
  end
  local rules = #(preset.rules or {})
  if rules > 0 then parts[#parts + 1] = rules == 1 and '1 rule' or rules .. ' rules' end
  return table.concat(parts, ', ')
end

local function choose()
  local choices, presets = require('acp.ui.choices'), require('acp.config').get().presets
  local valid_names = require('acp.base.valid_names')
  local session, shown = valid_names.session(), valid_names.session_number()
  local list = vim.tbl_map(
    function(name)
      return {
        label = choices.label(name, summary(presets[name])),
        value = name,
        current = session ~= nil and session.preset == name,
      }
    end,
    valid_names.presets()
  )
  if #list == 0 then
    require('acp.base.notify').show('info', 'no_presets')
  else
    choices.choose('Preset', 'preset', list, function(name) apply(name, shown) end)
  end
end

---@type table<string, acp.Subcommand>
return {
  preset = subcommand.one_of('presets', 'preset', function(args)
    if args[1] then
      apply(args[1])
    else
      choose()
    end
  end),
}
