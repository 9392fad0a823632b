--- The known agents as data: how each is started, what people call it, how it is got. A user's
--- entry of the same name is merged over the one here. Nothing here is looked at before it is used:
--- an agent that is not installed costs nothing, and says how to install it when it is wanted.

local function npm(package)
  return 'npm install -g ' .. package
end

local function uv(package)
  return 'uv tool install ' .. package
end

---@type table<string, acp.AgentConfig>
return {
  -- The embedded agent: without a command the host runs its own.
  tutor = { title = 'Tutor' },
  auggie = {
    title = 'Auggie',
    command = { 'auggie', '--acp' },
    env = { AUGMENT_DISABLE_AUTO_UPDATE = '1' },
    install = npm('@augmentcode/auggie'),
  },
  claude = {
    title = 'Claude',
    command = { 'claude-agent-acp' },
    install = npm('@agentclientprotocol/claude-agent-acp'),
  },
  cline = { title = 'Cline', command = { 'cline', '--acp' }, install = npm('cline') },
  codex = {
    title = 'Codex',
    command = { 'codex-acp' },
    install = npm('@agentclientprotocol/codex-acp'),
  },
  copilot = {
    title = 'GitHub Copilot',
    command = { 'copilot', '--acp' },
    install = npm('@github/copilot'),
  },
  crow = {
    title = 'Crow',
    command = { 'crow-cli', 'acp' },
    install = uv('crow-cli --python 3.14') .. ' && crow-cli init',
  },
  cursor = {
    title = 'Cursor',
    command = { 'cursor-agent', 'acp' },
    install = 'https://cursor.com/docs/cli/acp',
  },
  -- Its updates would replace the program while it runs.
  droid = {
    title = 'Factory Droid',
    command = { 'droid', 'exec', '--output-format', 'acp' },
    env = { DROID_DISABLE_AUTO_UPDATE = 'true', FACTORY_DROID_AUTO_UPDATE_ENABLED = 'false' },
    install = npm('droid'),
  },
  ['fast-agent'] = {
    title = 'fast-agent',
    command = { 'fast-agent-acp', '-x' },
    install = uv('fast-agent-acp'),
  },
  gemini = {
    title = 'Gemini CLI',
    command = { 'gemini', '--acp' },
    install = npm('@google/gemini-cli'),
  },
  goose = {
    title = 'goose',
    command = { 'goose', 'acp' },
    install = 'https://block.github.io/goose/',
  },
  kilo = { title = 'Kilo', command = { 'kilo', 'acp' }, install = npm('@kilocode/cli') },
  kimi = { title = 'Kimi', command = { 'kimi', 'acp' }, install = npm('@moonshot-ai/kimi-code') },
  kiro = {
    title = 'Kiro',
    command = { 'kiro-cli', 'acp' },
    install = 'https://kiro.dev/docs/cli/acp/',
  },
  nanocoder = {
    title = 'Nanocoder',
    command = { 'nanocoder', '--acp' },
    install = npm('@nanocollective/nanocoder'),
  },
  opencode = { title = 'OpenCode', command = { 'opencode', 'acp' }, install = npm('opencode-ai') },
  openhands = {
    title = 'OpenHands',
    command = { 'openhands', 'acp' },
    install = uv('openhands --python 3.12'),
  },
  -- An adapter: the agent itself, `pi`, is a package of its own.
  pi = {
    title = 'pi',
    command = { 'pi-acp' },
    install = npm('pi-acp') .. ', and pi itself: https://pi.dev',
  },
  qwen = {
    title = 'Qwen Code',
    command = { 'qwen', '--acp' },
    install = npm('@qwen-code/qwen-code'),
  },
  vibe = { title = 'Mistral Vibe', command = { 'vibe-acp' }, install = uv('mistral-vibe') },
}
