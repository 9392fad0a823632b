--- Checkpoints: the files before each prompt.
---@type acp.Feature
return {
  subcommands = {
    checkpoints = { 'the files before each prompt, and what changed since', 'Review', 8 },
    restore = { 'restore what agents changed since a prompt', 'Review', 9 },
    rewind = { 'go back to before a prompt: files and conversation', 'Review', 10 },
  },
  windows = { 'checkpoints' },
}
