--- Choices for a subcommand without an argument, with a mark at the current value.
local M = {}

---@class acp.Choice
---@field label string
---@field value any
---@field current? boolean

--- Return the label with a mark if the choice is the current one.
---@param choice acp.Choice
local function line(choice) return (choice.current and '* ' or '  ') .. choice.label end

--- Let the user choose. Without choices, show a message.
---@param kind string kind of the choices, for |vim.ui.select()| and the message
---@param choices acp.Choice[]
---@param on_value fun(value: any)
function M.choose(prompt, kind, choices, on_value)
  if #choices == 0 then
    local session = require('acp.base.valid_names').session()
    local is_starting = session and session.status == 'starting'
    local message = is_starting and 'session_starting' or 'nothing_to_choose'
    return require('acp.base.notify').show('info', message, kind)
  end
  local function on_choice(index) on_value(choices[index].value) end
  require('acp.ui.pick').choose(prompt, kind, vim.tbl_map(line, choices), on_choice)
end

---@param description? string
---@return string
function M.label(name, description)
  return description and description ~= '' and ('%s: %s'):format(name, description) or name
end

return M
