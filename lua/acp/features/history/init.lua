--- History: sessions of all agents and directories, searched and opened again.
---@type acp.Feature
return {
  subcommands = { history = { 'search the text of all sessions', 'Sessions', 7 } },
  signals = { chat_missing = { 'query', 'offer_last' } },
  functions = { history = { 'query', 'ask' } },
}
