--- The subcommand `:Acp land`.
local subcommand = require('acp.ui.subcommand')

--- Return the numbers of the sessions that have a worktree.
---@return string[]
local function numbers()
  local listed = {} ---@type string[]
  for n, session in pairs(require('acp.base.state').get().sessions) do
    if session.worktree then listed[#listed + 1] = tostring(n) end
  end
  table.sort(listed)
  return listed
end

--- Return the agents and presets before `--`, and the prompt after it; nil if there is no prompt.
---@param rest string
---@return string[] names
---@return string|nil prompt
local function racers(rest)
  local before, prompt = (rest .. ' '):match('^(.-)%s*%-%-%s+(.-)%s*$')
  return vim.split(before or rest, '%s+', { trimempty = true }), prompt
end

--- Return an error that names the first word that is neither an agent nor a preset.
---@param names string[]
---@return string|nil
local function mistake(names)
  local messages = require('acp.base.messages')
  local valid = require('acp.base.valid_names').agents_and_presets()
  for _, name in ipairs(names) do
    if not vim.tbl_contains(valid, name) then
      return require('acp.base.text.nearest').message(
        'agent or preset',
        name,
        valid,
        messages.all_agents
      )
    end
  end
end

---@param rest string
---@param cwd string
local function race(rest, cwd)
  local names, prompt = racers(rest)
  local wrong = mistake(names)
  if wrong then return require('acp.base.notify').error(wrong) end
  if not prompt or prompt == '' or #names == 0 then
    return require('acp.base.notify').show('error', 'race_needs')
  end
  local args = require('acp.base.signals').emit('prompt_context', prompt)
  subcommand.notify('race', vim.tbl_extend('force', args, { names = names, cwd = cwd }))
end

---@type table<string, acp.Subcommand>
return {
  race = {
    max = -1,
    bang = true,
    values = function(args)
      if vim.tbl_contains(args, '--') then return {} end
      return vim.list_extend({ '--' }, require('acp.base.valid_names').agents_and_presets())
    end,
    run = function(_, opts)
      local cwd = require('acp.base.places').cwd_or_error()
      if not cwd then return end
      if opts.bang then
        subcommand.notify('race_end', { cwd = cwd })
      elseif not opts.rest:match('%S') then
        subcommand.notify('race_compare', { cwd = cwd })
      else
        race(opts.rest, cwd)
      end
    end,
  },
  land = {
    max = 1,
    nouns = { 'session' },
    values = function(args) return #args == 0 and numbers() or {} end,
    bang = true,
    run = function(args, opts)
      local cwd = require('acp.base.places').cwd_or_error()
      local n = tonumber(args[1])
      if args[1] and not require('acp.base.state').get().sessions[n or 0] then
        require('acp.base.notify').show('error', 'no_such_session', args[1])
      elseif cwd then
        local file = not n and vim.b.acp_compared or nil
        local here = require('acp.ui.current').here()
        local place = { session = n, here = here, file = file, cwd = cwd }
        subcommand.notify('land', vim.tbl_extend('force', place, { drop = opts.bang or nil }))
      end
    end,
  },
}
