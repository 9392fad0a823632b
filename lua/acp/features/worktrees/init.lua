--- Worktrees: sessions in git worktrees of their own, whose results land in the user's tree.
---@type acp.Feature
return {
  subcommands = {
    land = { "a worktree's result", 'Review', 8 },
    race = { 'one prompt, several agents', 'Talk', 9 },
  },
  frame = {
    worktree_gone = { 'buffers', 'forget' },
    worktrees_compare = { 'compare', 'open' },
  },
}
