--- Newer versions of running agents in `agents_file`.
local M = {}

--- Return the npm package of an entry of the registry, without a version.
local function package_of(entry)
  local npx = type(entry.distribution) == 'table' and entry.distribution.npx
  return type(npx) == 'table' and tostring(npx.package):match('^@?[^@]+') or nil
end

--- Return the entry of an agent: found by its name, or by the package that installs it.
---@param entries table[]
---@param agent acp.AgentConfig
local function entry_of(entries, name, agent)
  local package = (agent.install or ''):match('^npm install %-g (%S+)$')
  for _, entry in ipairs(entries) do
    if entry.id == name or package and package_of(entry) == package then return entry end
  end
end

--- Return a line for each running agent whose version differs from `agents_file`.
---@return string[]
function M.lines()
  local config, lines = require('acp.config'), {}
  local entries = config.registry()
  local running = require('acp.base.state').get().agents
  for _, name in ipairs(require('acp.base.sorted_keys')(running)) do
    local agent = config.get().agents[name] or {}
    local entry = entry_of(entries, name, agent) or {}
    local release = agent.channel == 'preview' and entry.preview or entry
    local here = (running[name].info or {}).version
    if here and release.version and here ~= release.version then
      lines[#lines + 1] = ('%s: %s runs, agents_file has %s'):format(name, here, release.version)
    end
  end
  return lines
end

return M
