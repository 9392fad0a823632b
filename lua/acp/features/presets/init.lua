--- Presets: named agent, model, mode, options, tools, rules and system prompt of sessions.
---@type acp.Feature
return {
  subcommands = { preset = { 'preset of the session', 'Sessions', 7 } },
}
