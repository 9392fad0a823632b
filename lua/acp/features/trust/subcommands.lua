--- Subcommand `:Acp trust`.
local subcommand = require('acp.ui.subcommand')

local LEVELS = { 'off', 'edits', 'all' }
local WORDS = {
  off = 'ask about each permission',
  edits = 'allow edits in the directories of the session',
  all = 'allow all but secrets and files outside',
}

---@param level 'off'|'edits'|'all'
---@param shown? integer session that was current when the levels were shown
local function set(level, shown) subcommand.notify('trust', { level = level, shown = shown }) end

--- Choose the trust in the current session.
local function choose()
  local choices, valid_names = require('acp.ui.choices'), require('acp.base.valid_names')
  local session, shown = valid_names.session(), valid_names.session_number()
  local current = session and session.trust or 'off'
  local list = vim.tbl_map(
    function(level)
      return {
        label = choices.label(level, WORDS[level]),
        value = level,
        current = level == current,
      }
    end,
    LEVELS
  )
  choices.choose('Trust', 'trust', list, function(level) set(level, shown) end)
end

---@type table<string, acp.Subcommand>
return {
  trust = {
    max = 1,
    nouns = { 'trust' },
    strict = true,
    values = subcommand.first_argument(LEVELS),
    run = subcommand.when_running('no_session', function(args)
      if args[1] then
        set(args[1])
      else
        choose()
      end
    end),
  },
}
