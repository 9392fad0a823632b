--- Inline edits: change lines in place, without a chat window.
---@type acp.Feature
return {
  subcommands = { edit = { 'change these lines in place', 'Talk', 5 } },
  frame = {
    edit_state = { 'marks', 'set_state' },
    edit_over = { 'marks', 'remove' },
  },
  signals = {
    cancel_here = { 'edit', 'cancel_here', if_loaded = true },
    host_exited = { 'marks', 'clear', if_loaded = true },
  },
}
