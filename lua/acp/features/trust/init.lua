--- Trust: permissions of a session that are allowed without a question.
---@type acp.Feature
return {
  subcommands = { trust = { 'allow edits, or all, without asking', 'Decide', 5 } },
}
