--- Options `agents.*.via` and `agents.*.paths`: agents that are reached through another program,
--- such as ssh or docker.
local M = {}

local ways = { 'ssh', 'devcontainer', 'docker', 'kubectl' }

---@type acp.Check
function M.via(value)
  if type(value) == 'function' or vim.tbl_contains(ways, value) then return nil end
  local is_list = type(value) == 'table' and vim.islist(value) and #value > 0
  local function is_word(word) return type(word) == 'string' and word ~= '' end
  if is_list and vim.iter(value):all(is_word) then return nil end
  local hint = type(value) == 'string' and require('acp.base.text.nearest').hint(value, ways) or ''
  return "'ssh', 'devcontainer', 'docker', 'kubectl', a list of words or a function" .. hint
end

---@type acp.Check
function M.paths(value)
  if not require('acp.base.settings.is_map')(value) then
    return 'a table of directories there by directories here'
  end
  for here, there in pairs(value) do
    for _, path in ipairs({ here, there }) do
      if type(path) ~= 'string' or not path:find('^~?/') and path ~= '~' then
        return 'a table of absolute directories'
      end
    end
  end
end

--- Return a mistake in the combination of an agent's fields, or nil.
---@param agent acp.AgentConfig
function M.mistake(agent)
  local messages = require('acp.base.messages')
  if agent.via and agent.url then return messages.url_or_via end
  for way, field in pairs({ ssh = 'host', docker = 'container', kubectl = 'pod' }) do
    if agent.via == way and not agent[field] then return messages.via_needs:format('%s', field) end
  end
  local function is_below_home(there) return there:find('^~') ~= nil end
  if not agent.via and vim.iter(vim.tbl_values(agent.paths or {})):any(is_below_home) then
    return messages.paths_need_via
  end
end

--- Return the program that reaches an agent, or nil if the user's function names it.
---@param agent acp.AgentConfig
---@return string?
function M.program(agent)
  local via = agent.via
  if type(via) == 'table' then return via[1] end
  return type(via) == 'string' and via or nil
end

--- Return the way to an agent for display.
---@param agent acp.AgentConfig
function M.label(agent)
  local via = agent.via
  if type(via) == 'function' then return 'a function' end
  if type(via) == 'table' then return table.concat(via, ' ') end
  return via .. ' ' .. (agent.host or agent.pod or agent.container or '')
end

return M
