--- Subcommands for login and logout.
local subcommand = require('acp.ui.subcommand')

local notify = subcommand.notify

--- Return the agent to log in to: one that requires a login, or else the current session's.
local function agent_name()
  local state = require('acp.base.state').get()
  for name, agent in pairs(state.agents) do
    if agent.status == 'auth_required' then return name end
  end
  local session = require('acp.base.valid_names').session()
  return session and session.agent or nil
end

--- Choose a login method of the agent. If there is only one, use it without asking.
---@param method string|nil
local function log_in(method)
  local name = agent_name()
  local agent = name and require('acp.base.state').get().agents[name] or {}
  local methods = agent.auth_methods or {}
  if method or #methods < 2 then
    return notify('login', { agent = name, method = method or (methods[1] or {}).id })
  end
  local choices = require('acp.ui.choices')
  local list = vim.tbl_map(function(offered)
    local text = choices.label(offered.name or offered.id, offered.description)
    return { label = text, value = offered.id }
  end, methods)
  local prompt = require('acp.base.messages').log_in_to:format(name)
  local function on_method(id) notify('login', { agent = name, method = id }) end
  choices.choose(prompt, 'login', list, on_method)
end

---@type table<string, acp.Subcommand>
local M = {}

local login = subcommand.with_report(function(args) log_in(args[1]) end)
M.login = subcommand.one_of('auth_methods', 'way to log in', login)

M.logout = {
  run = subcommand.when_running('no_agent', function() notify('logout') end),
}

return M
