--- How the known agents are started. A user's entry of the same name is merged over the one here.
--- An agent that is not installed costs nothing: `:checkhealth acp` says which are.

---@type table<string, acp.AgentConfig>
return {
  -- The embedded agent: without a command the host runs its own.
  tutor = {},
  auggie = { command = { 'auggie', '--acp' } },
  claude = { command = { 'claude-agent-acp' } },
  cline = { command = { 'cline', '--acp' } },
  codex = { command = { 'codex-acp' } },
  copilot = { command = { 'copilot', '--acp' } },
  cursor = { command = { 'cursor-agent', 'acp' } },
  gemini = { command = { 'gemini', '--acp' } },
  goose = { command = { 'goose', 'acp' } },
  kimi = { command = { 'kimi', 'acp' } },
  opencode = { command = { 'opencode', 'acp' } },
  openhands = { command = { 'openhands', 'acp' } },
  pi = { command = { 'pi-acp' } },
  qwen = { command = { 'qwen', '--acp' } },
  vibe = { command = { 'vibe-acp' } },
}
