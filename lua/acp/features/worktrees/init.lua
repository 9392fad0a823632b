--- Worktrees: sessions in their own git worktrees. `:Acp land` applies their results to the user's
--- tree.
---@type acp.Feature
return {
  subcommands = {
    land = { "a worktree's result", 'Review', 8 },
    race = { 'one prompt, several agents', 'Talk', 9 },
  },
  windows = { 'race' },
  frame = {
    worktree_gone = { 'buffers', 'forget' },
    worktrees_compare = { 'compare', 'open' },
  },
}
