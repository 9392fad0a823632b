--- Prompt library: prompts by name, of the plugin, the user and the project.
---@type acp.Feature
return {
  subcommands = { ask = { 'a prompt from the library', 'Talk', 4 } },
  signals = {
    prompts_wanted = { 'prompts', 'insertable' },
    prompt_text_wanted = { 'ask', 'write' },
  },
}
