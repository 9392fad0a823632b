--- Trust: permissions of a session that are allowed without asking.
---@type acp.Feature
return {
  subcommands = { trust = { 'allow edits, or all, without asking', 'Decide', 5 } },
}
