--- Plan of a session.
---@type acp.Feature
return {
  subcommands = { plan = { "show or hide the agent's plan", 'Talk', 7 } },
  frame = { plan = { 'view', 'set' } },
}
