--- Built-in agents: title, command and installation command of each. A user's entry of the same
--- name is merged over the built-in one. If an agent is not installed, the error names its
--- `install`.

---@param command string words separated by spaces
---@param install string a command, or an address with instructions
---@param env? table<string, string>
---@return acp.AgentConfig
local function agent(title, command, install, env)
  return { title = title, command = vim.split(command, ' '), install = install, env = env }
end

---@param package string
local function npm(package) return 'npm install -g ' .. package end

---@param package string
local function uv(package) return 'uv tool install ' .. package end

-- Disable updates that would replace the program while it runs.
local AUGGIE = { AUGMENT_DISABLE_AUTO_UPDATE = '1' }
local DROID = { DROID_DISABLE_AUTO_UPDATE = 'true', FACTORY_DROID_AUTO_UPDATE_ENABLED = 'false' }

-- Project folders of agents whose folder is not named like the agent.
local FOLDERS = {
  auggie = '.augment',
  copilot = '.github-copilot',
  droid = '.factory',
  kilo = '.kilocode',
  kimi = '.kimi-code',
}
-- Internal data of agents in these folders, which is not part of the user's work.
local INTERNAL = '{.locks,.cache,cache,logs,sessions,tmp}'

---@type table<string, acp.AgentConfig>
local known_agents = {
  -- The embedded agent. Without a command, the host starts its own.
  tutor = { title = 'Tutor' },
  auggie = agent('Auggie', 'auggie --acp', npm('@augmentcode/auggie'), AUGGIE),
  claude = agent('Claude', 'claude-agent-acp', npm('@agentclientprotocol/claude-agent-acp')),
  cline = agent('Cline', 'cline --acp', npm('cline')),
  codex = agent('Codex', 'codex-acp', npm('@agentclientprotocol/codex-acp')),
  copilot = agent('GitHub Copilot', 'copilot --acp', npm('@github/copilot')),
  crow = agent('Crow', 'crow-cli acp', uv('crow-cli --python 3.14') .. ' && crow-cli init'),
  cursor = agent('Cursor', 'cursor-agent acp', 'https://cursor.com/docs/cli/acp'),
  droid = agent('Factory Droid', 'droid exec --output-format acp', npm('droid'), DROID),
  ['fast-agent'] = agent('fast-agent', 'fast-agent-acp -x', uv('fast-agent-acp')),
  gemini = agent('Gemini CLI', 'gemini --acp', npm('@google/gemini-cli')),
  goose = agent('goose', 'goose acp', 'https://block.github.io/goose/'),
  kilo = agent('Kilo', 'kilo acp', npm('@kilocode/cli')),
  kimi = agent('Kimi', 'kimi acp', npm('@moonshot-ai/kimi-code')),
  kiro = agent('Kiro', 'kiro-cli acp', 'https://kiro.dev/docs/cli/acp/'),
  nanocoder = agent('Nanocoder', 'nanocoder --acp', npm('@nanocollective/nanocoder')),
  opencode = agent('OpenCode', 'opencode acp', npm('opencode-ai')),
  openhands = agent('OpenHands', 'openhands acp', uv('openhands --python 3.12')),
  -- An adapter. The agent itself, `pi`, is a separate package.
  pi = agent('pi', 'pi-acp', npm('pi-acp') .. ', and pi itself: https://pi.dev'),
  qwen = agent('Qwen Code', 'qwen --acp', npm('@qwen-code/qwen-code')),
  vibe = agent('Mistral Vibe', 'vibe-acp', uv('mistral-vibe')),
}

for name, entry in pairs(known_agents) do
  entry.store = { ('%s/**/%s/**'):format(FOLDERS[name] or '.' .. name, INTERNAL) }
end

return known_agents
