--- Agents: choice, restart, stop, state, traffic.
---@type acp.Feature
return {
  subcommands = {
    agent = { 'the agent for new sessions', 'Sessions', 3 },
    restart = { 'restart the agent and reopen its sessions', 'Sessions', 9 },
    stop = { 'stop the agent', 'Sessions', 10 },
    info = { 'agents, sessions, and what went wrong', 'Help', 2 },
    log = { 'the traffic with an agent', 'Help', 3 },
  },
}
