--- Choice of the agent for new sessions.
local M = {}

--- Use this agent for new sessions.
function M.use(name)
  require('acp.base.valid_names').choose_agent(name)
  require('acp.ui.subcommand').notify('agent', { name = name })
end

---@param command string[]|nil nil for an embedded agent or one that only the host knows
local function is_installed(command)
  return not command or vim.fn.executable(vim.fn.expand(command[1] or '')) == 1
end

--- Let the user choose the agent for new sessions. Installed agents come first.
function M.choose()
  local config, current = require('acp.config').get(), require('acp.base.valid_names').agent()
  local choices = require('acp.ui.choices')
  local here, missing = {}, {}
  for _, name in ipairs(require('acp.base.valid_names').agents()) do
    local agent = config.agents[name] or {}
    local command, url = agent.command, agent.url
    local program = agent.via and require('acp.base.settings.via').program(agent)
    local available = is_installed(program and { program } or not agent.via and command or nil)
    local where = url and require('acp.base.settings.addresses').without_secrets(url)
    local text = choices.label(name, where or command and table.concat(command, ' '))
    table.insert(available and here or missing, {
      label = available and text or text .. ' (not installed)',
      value = name,
      current = name == current,
    })
  end
  local prompt = require('acp.base.messages').choose_agent
  choices.choose(prompt, 'agent', vim.list_extend(here, missing), M.use)
end

return M
