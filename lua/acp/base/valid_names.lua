--- Names that are currently valid, from the state cache and the options, for completion and
--- suggestions. Nothing here starts Python.
local M = {}

local sorted_keys = require('acp.base.sorted_keys')

---@param list { id: string }[]|nil
local function ids(list)
  return vim.tbl_map(function(entry) return entry.id end, list or {})
end

--- Return the number of the session that commands act on: the current one, or its topmost ancestor
--- if it is a subagent.
---@return integer|nil
function M.session_number()
  local state = require('acp.base.state').get()
  local n = state.current
  while n and state.sessions[n] and state.sessions[n].parent do
    n = state.sessions[n].parent
  end
  return n
end

--- Return the session that commands act on.
---@return acp.Session|nil
function M.session()
  local n = M.session_number()
  return n and require('acp.base.state').get().sessions[n] or nil
end

--- Return the names of configured and of running agents.
---@return string[]
function M.agents()
  local names = {}
  for _, name in ipairs(require('acp.config').agent_names()) do
    names[name] = true
  end
  for name in pairs(require('acp.base.state').get().agents or {}) do
    names[name] = true
  end
  return sorted_keys(names)
end

--- Return the names of the configured presets.
---@return string[]
function M.presets() return sorted_keys(require('acp.config').get().presets) end

--- Return the names with which a session can start: those of agents and presets.
---@return string[]
function M.agents_and_presets()
  local names = vim.list_extend(M.agents(), M.presets())
  table.sort(names)
  return vim.fn.uniq(names)
end

local chosen ---@type { name: string, options: table }|nil the choice of `:Acp agent`

--- Set the agent for new sessions. The next `setup()` resets it.
function M.choose_agent(name) chosen = { name = name, options = require('acp.config').get() } end

--- Return the agent for new sessions.
---@return string
function M.agent()
  local options = require('acp.config').get()
  return chosen and chosen.options == options and chosen.name or options.agent
end

--- Return the agents that were started.
---@return string[]
function M.started_agents() return sorted_keys(require('acp.base.state').get().agents or {}) end

--- Return the ids of all advertised authentication methods.
---@return string[]
function M.auth_methods()
  local method_ids = {}
  for _, agent in pairs(require('acp.base.state').get().agents or {}) do
    for _, method in ipairs(agent.auth_methods or {}) do
      method_ids[method.id] = true
    end
  end
  return sorted_keys(method_ids)
end

---@return string[]
function M.modes()
  local session = M.session()
  return ids(session and session.modes and session.modes.available)
end

--- Return the config options of the current session in wire format.
---@return table[]
function M.config_options()
  local session = M.session()
  return session and session.options or {}
end

---@param id string
---@return table|nil
function M.config_option(id)
  return vim.iter(M.config_options()):find(function(option) return option.id == id end)
end

---@return string[]
function M.option_ids() return ids(M.config_options()) end

--- Return the ids of the config options, and 'provider' if the agent supports providers.
---@return string[]
function M.options_and_provider()
  local names = M.option_ids()
  local session, state = M.session(), require('acp.base.state').get()
  local agent = (state.agents or {})[session and session.agent or M.agent()]
  local has_providers = vim.tbl_get(agent or {}, 'capabilities', 'providers')
  if has_providers and not vim.tbl_contains(names, 'provider') then
    names[#names + 1] = 'provider'
  end
  return names
end

--- Return the config option that selects the model.
---@return string id 'model' if no option does
function M.model_option()
  local session = M.session()
  return session and session.model and session.model.option or 'model'
end

--- Return the values of a config option, including those in groups; 'true' and 'false' for a
--- boolean.
---@param id string
---@return string[]
function M.option_values(id)
  local values = {}
  local option = M.config_option(id) or {}
  if option.type == 'boolean' then return { 'true', 'false' } end
  for _, item in ipairs(option.options or {}) do
    for _, choice in ipairs(item.options or { item }) do
      values[#values + 1] = choice.value
    end
  end
  return values
end

--- Convert `value` to wire format: a boolean for a boolean option.
---@param id string
---@param value string
---@return string|boolean
function M.option_value(id, value)
  if (M.config_option(id) or {}).type == 'boolean' then return value == 'true' end
  return value
end

--- Return the candidates that begin with `lead`, or else those that match it fuzzily.
---@param list string[]
---@param lead string
---@return string[]
function M.matching(list, lead)
  if lead == '' then return list end
  local matching = vim.tbl_filter(function(name) return vim.startswith(name, lead) end, list)
  return #matching > 0 and matching or vim.fn.matchfuzzy(list, lead)
end

--- Return the numbers of the current session's checkpoints, newest first.
---@return string[]
function M.checkpoints()
  local session = M.session()
  local checkpoints = vim.iter(session and session.checkpoints or {}):rev()
  return checkpoints:map(function(checkpoint) return tostring(checkpoint.n) end):totable()
end

--- Return completions of a typed path.
---@param lead string
---@return string[]
function M.files(lead) return require('acp.base.paths').completions(lead) end

--- Return the absolute paths of all files with pending edits.
---@return string[]
function M.pending_paths()
  local paths = {} ---@type table<string, true>
  for _, edit in ipairs(require('acp.base.state').edits()) do
    paths[edit.path] = true
  end
  return sorted_keys(paths)
end

--- Return completions that name files with pending edits, or any files if none matches.
---@param lead string
---@return string[]
function M.pending_files(lead)
  local argument = require('acp.base.paths').quote_argument
  local completions = {} ---@type table<string, true>
  for _, path in ipairs(M.pending_paths()) do
    local name = argument(vim.fn.fnamemodify(path, ':.'))
    completions[vim.startswith(name, lead) and name or argument(path)] = true
  end
  local names = vim.tbl_filter(
    function(name) return vim.startswith(name, lead) end,
    vim.tbl_keys(completions)
  )
  table.sort(names)
  return #names > 0 and names or M.files(lead)
end

return M
