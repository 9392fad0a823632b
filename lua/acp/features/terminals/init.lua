--- Terminals of agents.
---@type acp.Feature
return {
  subcommands = { terminals = { "the agent's terminals", 'Talk', 8 } },
  windows = { 'terminal' },
  frame = {
    terminal = { 'view', 'write' },
    terminal_open = { 'view', 'open' },
    terminals = { 'view', 'pick' },
  },
}
