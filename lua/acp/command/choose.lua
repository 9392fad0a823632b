--- Choices for a subcommand without an argument: agents, modes, models, options, login methods. The
--- names come from cached state; only the choice is sent to the host.
local M = {}

---@class acp.Choice
---@field label string
---@field value any
---@field current? boolean

local notify = require('acp.command.subcommands.spec').notify

--- Return the label with a mark if the choice is the current one.
---@param choice acp.Choice
local function line(choice) return (choice.current and '* ' or '  ') .. choice.label end

---@param choices acp.Choice[]
---@param then_ fun(value: any)
local function choose(prompt, kind, choices, then_)
  if #choices == 0 then
    local message = require('acp.base.messages').nothing_to_choose
    return require('acp.base.notify').echo('info', message:format(kind))
  end
  local function on_choice(index) then_(choices[index].value) end
  require('acp.ui.pick').choose(prompt, kind, vim.tbl_map(line, choices), on_choice)
end

local function label(name, description)
  return description and description ~= '' and ('%s: %s'):format(name, description) or name
end

--- Use this agent for new sessions.
function M.use(name)
  require('acp.base.valid_names').choose_agent(name)
  notify('agent', { name = name })
end

---@param command string[]|nil nil for an embedded agent or one that only the host knows
local function is_installed(command)
  return not command or vim.fn.executable(vim.fn.expand(command[1] or '')) == 1
end

--- Choose the agent for new sessions. Installed agents come first.
function M.agent()
  local config, current = require('acp.config').get(), require('acp.base.valid_names').agent()
  local here, missing = {}, {}
  for _, name in ipairs(require('acp.base.valid_names').agents()) do
    local agent = config.agents[name] or {}
    local command, url = agent.command, agent.url
    local available = is_installed(command)
    local where = url and require('acp.base.settings.addresses').shown(url)
    local text = label(name, where or command and table.concat(command, ' '))
    table.insert(available and here or missing, {
      label = available and text or text .. ' (not installed)',
      value = name,
      current = name == current,
    })
  end
  choose(require('acp.base.messages').choose_agent, 'agent', vim.list_extend(here, missing), M.use)
end

--- Choose the mode of the current session.
function M.mode()
  local session = require('acp.base.valid_names').session()
  local modes = session and session.modes or { available = {} }
  local choices = vim.tbl_map(
    function(mode)
      return {
        label = label(mode.name or mode.id, mode.description),
        value = mode.id,
        current = mode.id == modes.current,
      }
    end,
    modes.available
  )
  choose('Mode', 'mode', choices, function(id) notify('mode', { id = id }) end)
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
  local choices = {}
  for _, item in ipairs(option.options or {}) do
    for _, one in ipairs(item.options or { item }) do
      local name = item.options and ('%s / %s'):format(item.name, one.name) or one.name
      choices[#choices + 1] = {
        label = label(name or one.value, one.description),
        value = one.value,
        current = one.value == option.currentValue,
      }
    end
  end
  return choices
end

--- Choose the value of a config option of the current session.
---@param id string
function M.value(id)
  local option = require('acp.base.valid_names').config_option(id) or {}
  local function set(value) notify('option', { id = id, value = value }) end
  choose(option.name or id, id, values(option), set)
end

--- Choose a config option of the current session and then its value.
function M.option()
  local choices = vim.tbl_map(function(option)
    local now = vim.tbl_filter(function(choice) return choice.current end, values(option))[1]
    return { label = label(option.name or option.id, now and now.label), value = option.id }
  end, require('acp.base.valid_names').config_options())
  local all = require('acp.base.valid_names').options_and_provider()
  local provider = #all > #choices
  if provider then choices[#choices + 1] = { label = 'provider', value = 'provider' } end
  choose('Option', 'option', choices, function(id)
    if provider and id == 'provider' then return notify('provider') end
    M.value(id)
  end)
end

--- Return the agent to log in to: one that requires a login, or else that of the current session.
local function login_agent()
  local state = require('acp.base.state').get()
  for name, agent in pairs(state.agents) do
    if agent.status == 'auth_required' then return name end
  end
  local session = require('acp.base.valid_names').session()
  return session and session.agent or nil
end

--- Choose a login method of the agent. If there is only one, use it without asking.
---@param method string|nil
function M.login(method)
  local name = login_agent()
  local agent = name and require('acp.base.state').get().agents[name] or {}
  local methods = agent.auth_methods or {}
  if method or #methods < 2 then
    return notify('login', { agent = name, method = method or (methods[1] or {}).id })
  end
  local choices = vim.tbl_map(function(one)
    local text = label(one.name or one.id, one.description)
    return { label = text, value = one.id }
  end, methods)
  local function log_in(id) notify('login', { agent = name, method = id }) end
  choose(require('acp.base.messages').log_in_to:format(name), 'login', choices, log_in)
end

return M
