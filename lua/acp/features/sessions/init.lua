--- Sessions: open and stored ones, their modes and options, and their recovery after a crash.
---@type acp.Feature
return {
  subcommands = {
    new = { 'a new session', 'Sessions', 1 },
    sessions = { 'open and stored sessions', 'Sessions', 2 },
    mode = { 'mode of the session', 'Sessions', 4 },
    model = { 'model of the session', 'Sessions', 5 },
    option = { 'other options of the session', 'Sessions', 6 },
  },
  windows = { 'chat', 'composer' },
  frame = { under_way = { 'restore', 'set_running_prompt' } },
  signals = {
    host_starts = { 'restore', 'add_past' },
    host_exited = { 'restore', 'on_host_exit' },
  },
  functions = { tool_calls = { 'tool_calls', 'request' } },
}
