--- Plan of a session.
---@type acp.Feature
return {
  subcommands = { plan = { "show or hide the agent's plan", 'Talk', 7 } },
  frame = { plan = { 'view', 'set' } },
  signals = {
    chat_hides = { 'view', 'hide', if_loaded = true },
    chat_shown = { 'view', 'show_again', if_loaded = true },
  },
}
