--- Validation of the options of `setup()`. All mistakes are reported at once, with the nearest
--- valid name.
local M = {}

local is_map = require('acp.base.settings.is_map')
local sorted_keys = require('acp.base.sorted_keys')

--- Return the module that describes mistakes. It is loaded for the first mistake.
local function nearest() return require('acp.base.text.nearest') end

---@alias acp.Check fun(value: any): string|nil  a description of valid values, nil if it is valid

local function check_kind(kind)
  return function(value) return type(value) ~= kind and ('a ' .. kind) or nil end
end

---@param path string full name of an option
---@param what string
local function should_be(path, what)
  return require('acp.base.messages').option_should:format(path, what)
end

---@return acp.Check
local function one_of(...)
  local values = { ... }
  return function(value)
    if vim.tbl_contains(values, value) then return nil end
    local are_words = type(value) == 'string' and type(values[1]) == 'string'
    local hint = are_words and nearest().hint(value, values) or ''
    return ("one of '%s'%s"):format(table.concat(values, "', '"), hint)
  end
end

---@return acp.Check
local function number(low, whole)
  return function(value)
    local is_good = type(value) == 'number' and value >= low and value < math.huge
    is_good = is_good and (not whole or value % 1 == 0)
    return not is_good and ('a %s of %s or more'):format(whole and 'whole number' or 'number', low)
      or nil
  end
end

---@param check acp.Check
---@return acp.Check
local function list_of(check)
  return function(value)
    if type(value) ~= 'table' or not vim.islist(value) then return 'a list' end
    for i, item in ipairs(value) do
      local should = check(item)
      if should then return ('a list in which item %d is %s'):format(i, should) end
    end
  end
end

---@param check_of fun(name: any): acp.Check|nil, string|nil check, or a description of valid tables
---@return acp.Check
local function map_by(check_of)
  return function(value)
    if not is_map(value) then return 'a table with names as keys' end
    for name, item in pairs(value) do
      local check, instead = check_of(name)
      local should = check and check(item)
      if not check then return instead end
      if should then return ("a table in which '%s' is %s"):format(name, should) end
    end
  end
end

---@param check acp.Check
---@return acp.Check
local function map_of(check)
  return map_by(function() return check end)
end

---@param fields table<string, acp.Check>
---@return acp.Check
local function record(fields, required)
  local known = map_by(function(name)
    local names = sorted_keys(fields)
    local hint = nearest().hint(tostring(name), names)
    return fields[name], require('acp.base.messages').part_without:format(tostring(name), hint)
  end)
  return function(value)
    return known(value)
      or (value[required] == nil and ("a table with '%s'"):format(required) or nil)
  end
end

---@param ... acp.Check
---@return acp.Check
local function check_either(...)
  local checks = { ... }
  return function(value)
    local wanted = {}
    for _, check in ipairs(checks) do
      local should = check(value)
      if not should then return nil end
      wanted[#wanted + 1] = should
    end
    return table.concat(wanted, ' or ')
  end
end

local text, flag = check_kind('string'), check_kind('boolean')
local texts = list_of(text)

local function non_empty(value)
  return (texts(value) or #value == 0) and 'a list of strings, the program first' or nil
end

--- Check option `notify`.
local function check_ways(value)
  local function is_way(way)
    return type(way) == 'function' or vim.tbl_contains({ 'vim', 'osc', 'bell' }, way)
  end
  local is_list = type(value) == 'table' and vim.islist(value)
  if type(value) == 'boolean' or is_list and vim.iter(value):all(is_way) or is_way(value) then
    return nil
  end
  return "a boolean or a list of 'vim', 'osc', 'bell' and functions"
end

local function anything() return nil end

local function check_name(value)
  return (type(value) ~= 'table' or type(value.name) ~= 'string') and "a table with 'name'" or nil
end

local agent_fields = {
  command = non_empty,
  url = function(value) return require('acp.base.settings.addresses').url(value) end,
  headers = function(value) return require('acp.base.settings.addresses').headers(value) end,
  via = function(value) return require('acp.base.settings.via').via(value) end,
  host = text,
  container = text,
  pod = text,
  paths = function(value) return require('acp.base.settings.via').paths(value) end,
  env = map_of(check_either(text, number(-math.huge))),
  cwd = text,
  auth_method = text,
  mode = text,
  options = map_of(anything),
  mcp_servers = list_of(check_name),
  tools = check_either(flag, texts),
  system_prompt = check_either(
    text,
    record({ text = text, mode = one_of('append', 'override') }, 'text')
  ),
  meta = map_of(anything),
  protocol = one_of(1, 2),
  channel = one_of('stable', 'preview'),
  title = text,
  install = text,
  store = texts,
}

local rule_fields = {
  action = one_of('allow', 'deny', 'ask'),
  kind = check_either(text, texts),
  path = check_either(text, texts),
  command = check_either(text, texts),
  agent = check_either(text, texts),
}

local preset_fields = {
  agent = text,
  model = text,
  mode = text,
  options = map_of(check_either(text, flag)),
  tools = agent_fields.tools,
  rules = list_of(anything),
  system_prompt = agent_fields.system_prompt,
}

--- Check an entry of option `prompts`.
---@type acp.Check
local function prompt_entry(value)
  if value == false or type(value) == 'function' then return nil end
  local fields = record({ text = text, preset = text }, 'text')
  local should = (type(value) == 'table' and fields or text)(value)
  local words = type(value) == 'table' and value.text or value
  if should and type(value) ~= 'table' then return "a text, a table with 'text' or a function" end
  return should or (not words:match('%S') and 'a text with words' or nil)
end

--- Check the fields of a table and report each mistake under its full path.
---@param fields table<string, acp.Check>
---@param report fun(message: string)
---@return boolean good
local function each_field(value, fields, required, path, report)
  if not is_map(value) then
    report(should_be(path, 'a table with names as keys'))
    return false
  end
  local is_good, has_unknown = true, false
  for name, item in pairs(value) do
    local at = path .. '.' .. tostring(name)
    local should = fields[name] and fields[name](item)
    if not fields[name] then
      local valid = vim.tbl_map(
        function(field) return path .. '.' .. field end,
        sorted_keys(fields)
      )
      report(nearest().message('option', at, valid))
      is_good, has_unknown = false, true
    elseif should then
      report(should_be(at, should))
      is_good = false
    end
  end
  for _, name in ipairs(required) do
    if value[name] == nil and not has_unknown then
      report(should_be(path, ("a table with '%s'"):format(name)))
      is_good = false
    end
  end
  return is_good
end

--- Check of each option. `agents`, `keymaps` and `presets` have their own functions.
---@type table<string, acp.Check>
local checks = {
  ['agent'] = text,
  ['agents_file'] = text,
  ['python'] = text,
  ['mcp_servers'] = list_of(check_name),
  ['prompts'] = map_of(prompt_entry),
  ['tools'] = check_either(flag, texts),
  ['tools_ask'] = flag,
  ['meta'] = map_of(anything),
  ['files.outside'] = one_of('ask', 'deny', 'allow'),
  ['files.secret'] = texts,
  ['files.executed'] = texts,
  ['files.directories'] = texts,
  ['files.save'] = one_of('auto', 'always', 'never'),
  ['files.autocmds'] = flag,
  ['files.unsaved'] = one_of('attach', 'save', 'ask', 'ignore'),
  ['permission.rules'] = list_of(anything),
  ['terminal.enabled'] = flag,
  ['terminal.output_limit'] = number(1, true),
  ['chat.open'] = flag,
  ['chat.layout'] = one_of('right', 'left', 'top', 'bottom', 'float'),
  ['chat.size'] = number(0.05),
  ['chat.bar'] = flag,
  ['chat.thoughts'] = one_of('fold', 'show', 'hide'),
  ['chat.tool_lines'] = number(0, true),
  ['chat.images'] = flag,
  ['composer.height'] = number(2, true),
  ['composer.popup'] = flag,
  ['review.inline'] = flag,
  ['review.signs'] = flag,
  ['review.diagnostics'] = flag,
  ['follow'] = flag,
  ['checkpoints'] = flag,
  ['blame'] = flag,
  ['blame_export'] = function(value)
    local is_ref = type(value) == 'string' and value:match('^refs/notes/[%w._/-]*[%w_-]$')
    return not is_ref and one_of('trace', 'notes', 'refs/notes/…')(value) or nil
  end,
  ['notify'] = check_ways,
  ['progress'] = check_either(flag, list_of(one_of('osc', 'message'))),
  ['worktrees.dir'] = text,
  ['worktrees.setup'] = check_either(text, non_empty),
  ['log.level'] = one_of('debug', 'info', 'warn', 'error', 'off'),
  ['log.bytes'] = number(0, true),
  ['log.redact'] = flag,
  ['history.enabled'] = flag,
  ['history.days'] = number(0),
  ['history.bytes'] = number(1024 * 1024, true),
  ['limits.message_bytes'] = number(1, true),
  ['limits.pending_bytes'] = number(1, true),
  ['limits.tool_output_bytes'] = number(1, true),
  ['timeouts.cancel_s'] = number(0),
  ['timeouts.silent_s'] = number(0),
  ['timeouts.kill_s'] = number(0),
}

--- Return the full paths of the option names that are valid below `prefix` ('' or 'files.').
local function names_at(prefix)
  local names = {} ---@type table<string, true>
  for _, name in ipairs(prefix == '' and { 'agents', 'keymaps', 'presets' } or {}) do
    names[name] = true
  end
  for path in pairs(checks) do
    if vim.startswith(path, prefix) then
      names[prefix .. path:sub(#prefix + 1):match('^[^.]+')] = true
    end
  end
  return sorted_keys(names)
end

--- Return a mistake in the combination of an agent's fields, or nil.
---@param known acp.AgentConfig|nil the built-in agent of the same name
local function mistake_in_fields(entry, known)
  local messages = require('acp.base.messages')
  if entry.url ~= nil and entry.command ~= nil then return messages.url_or_command end
  local url = entry.url or (known or {}).url
  if entry.headers ~= nil and next(entry.headers) and not url then
    return messages.headers_need_url
  end
  if entry.via or entry.paths then
    local whole = vim.tbl_extend('force', known or {}, entry)
    return require('acp.base.settings.via').mistake(whole)
  end
end

--- Merge the user's agents over the built-in ones, field by field. `false` removes an agent.
---@param base table<string, acp.AgentConfig>
---@param further boolean `agents_file` is set and may define agents that have no command here
---@param report fun(message: string)
---@return table<string, acp.AgentConfig>
local function agents(base, value, further, report)
  local result = vim.deepcopy(base)
  local wrong = map_of(anything)(value)
  if wrong then
    report(should_be('agents', wrong))
    return result
  end
  for name, entry in pairs(value) do
    local known = result[name]
    local has_url = type(entry) == 'table' and entry.url ~= nil
    local required = not (known or further or has_url) and { 'command' } or {}
    local path = 'agents.' .. tostring(name)
    local is_good = entry == false or each_field(entry, agent_fields, required, path, report)
    local wrong_together = is_good and entry and mistake_in_fields(entry, known)
    if entry == false then
      result[name] = nil
    elseif wrong_together then
      report(wrong_together:format(path))
    elseif is_good then
      if has_url and known then
        known = vim.tbl_extend('force', known, {})
        known.command, known.install = nil, nil
      end
      result[name] = vim.tbl_extend('force', known or {}, vim.deepcopy(entry))
      result[name].env = vim.tbl_extend('force', (known or {}).env or {}, entry.env or {})
    end
  end
  return result
end

--- Return whether every rule is valid. A list with a mistake is ignored as a whole, because the
--- remaining rules might allow more than the user wants.
---@param option string full path of the list
---@param report fun(message: string)
local function rules(list, option, report)
  local is_good = true
  for i, item in ipairs(list) do
    local path = ('%s[%d]'):format(option, i)
    is_good = each_field(item, rule_fields, { 'action' }, path, report) and is_good
  end
  return is_good
end

--- Return the valid presets. One with a mistake is ignored as a whole, because the rest of it might
--- allow more than the user wants.
---@param report fun(message: string)
---@return table<string, acp.Preset>
local function presets(value, report)
  local result = {}
  if not is_map(value) then
    report(should_be('presets', 'a table with names as keys'))
    return result
  end
  for name, entry in pairs(value) do
    local path = 'presets.' .. tostring(name)
    local is_name = type(name) == 'string' and name ~= ''
    if not is_name then report(should_be('presets', 'a table with names as keys')) end
    local is_good = is_name and each_field(entry, preset_fields, {}, path, report)
    if is_good and rules(entry.rules or {}, path .. '.rules', report) then
      result[name] = vim.deepcopy(entry)
    end
  end
  return result
end

--- Merge a table of options over its defaults.
---@param prefix string full name of the table with a dot, '' for all options
---@param report fun(message: string)
local function merge_level(base, given, prefix, report)
  local result = vim.deepcopy(base)
  for name, value in pairs(given) do
    local path = prefix .. tostring(name)
    if path == 'agents' then
      result.agents = agents(base.agents, value, given.agents_file ~= nil, report)
    elseif path == 'presets' then
      result.presets = presets(value, report)
    elseif path == 'keymaps' then
      result.keymaps = require('acp.base.settings.keymaps').merge(base.keymaps, value, report)
    elseif checks[path] then
      local should = checks[path](value)
      if should then
        report(should_be(path, should))
      elseif path ~= 'permission.rules' or rules(value, path, report) then
        result[name] = vim.deepcopy(value)
      end
    elseif type(base[name]) ~= 'table' then
      local where = require('acp.base.messages').see_options
      report(nearest().message('option', path, names_at(prefix), where))
    elseif type(value) ~= 'table' then
      report(should_be(path, 'a table'))
    else
      result[name] = merge_level(base[name], value, path .. '.', report)
    end
  end
  return result
end

--- Report and remove the presets whose agent does not exist, and the prompts whose preset does not
--- exist.
---@param config acp.Config
---@param report fun(message: string)
local function drop_dangling(config, report)
  for name, preset in pairs(config.presets) do
    local is_known = not preset.agent or config.agents[preset.agent] or config.agents_file
    if not is_known then
      local what = ("agent of preset '%s':"):format(name)
      report(nearest().message(what, preset.agent, sorted_keys(config.agents)))
      config.presets[name] = nil
    end
  end
  for name, prompt in pairs(config.prompts) do
    local preset = type(prompt) == 'table' and prompt.preset
    if preset and not config.presets[preset] then
      local what = ("preset of prompt '%s':"):format(name)
      report(nearest().message(what, preset, sorted_keys(config.presets)))
      config.prompts[name] = nil
    end
  end
end

--- Merge `opts` over `defaults`. Return the result and one line for each mistake, sorted.
---@param defaults acp.Config
---@param opts any
---@return acp.Config
---@return string[] mistakes
function M.merge(defaults, opts)
  local mistakes = {}
  local function report(message) mistakes[#mistakes + 1] = (message:gsub('%c+', ' ')) end
  if type(opts) ~= 'table' then
    report(require('acp.base.messages').setup_takes_table)
    opts = {}
  end
  local result = merge_level(defaults, opts, '', report)
  if not result.agents[result.agent] and not result.agents_file then
    local names = sorted_keys(result.agents)
    report(nearest().message('agent', result.agent, names, require('acp.base.messages').all_agents))
    result.agent = result.agents[defaults.agent] and defaults.agent or names[1]
  end
  drop_dangling(result, report)
  table.sort(mistakes)
  return result, mistakes
end

return M
