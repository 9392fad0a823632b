--- Blame: the prompt that wrote the line under the cursor.
---@type acp.Feature
return {
  subcommands = { blame = { 'which prompt wrote the line under the cursor', 'Review', 6 } },
  windows = { 'blame' },
  frame = { blame = { 'view', 'set' } },
}
