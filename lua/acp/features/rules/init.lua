--- Rules: the ones in force, and rules that the user stores when answering questions.
---@type acp.Feature
return {
  subcommands = { rules = { 'rules that answer permissions', 'Decide', 6 } },
  windows = { 'rules' },
  signals = { question_always = { 'rules', 'offer' } },
}
