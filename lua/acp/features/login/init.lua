--- Login to agents.
---@type acp.Feature
return {
  subcommands = {
    login = { 'log in to the agent', 'Sessions', 11 },
    logout = { 'log out', 'Sessions', 12 },
  },
  frame = { login = { 'terminal', 'open' } },
}
