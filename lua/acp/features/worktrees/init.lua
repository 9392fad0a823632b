--- Worktrees: sessions in git worktrees of their own, whose results land in the user's tree.
---@type acp.Feature
return {
  subcommands = { land = { "a worktree's result", 'Review', 8 } },
  frame = { worktree_gone = { 'buffers', 'forget' } },
}
