--- Overview of all sessions, including those of other Neovims in the workspace.
---@type acp.Feature
return {
  subcommands = { overview = { 'all sessions, even of other Neovims', 'Sessions', 0 } },
  windows = { 'overview' },
  signals = {
    question_at_cursor = { 'view', 'question_at_cursor', if_loaded = true },
    questions_in_rows = { 'view', 'questions_in_rows', if_loaded = true },
  },
}
