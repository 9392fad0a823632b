--- State of all turns together, shown in the ways of the option `progress`.
local M = {}

---@alias acp.Progress 'working'|'waiting'|'none'

local WAYS = { 'osc', 'message' }

---@return table<string, true>
local function chosen()
  local option = require('acp.config').get().progress
  local ways = option == true and WAYS or option or {} --[[@as string[] ]]
  return vim.iter(ways):fold({}, function(set, way)
    set[way] = true
    return set
  end)
end

--- Return the state to show: one session that waits for the user is enough.
---@return acp.Progress
local function state_to_show()
  local activity, found = require('acp.ui.activity'), 'none'
  for _, session in pairs(require('acp.base.state').get().sessions) do
    if activity.question_count(session) > 0 then return 'waiting' end
    if session.status == 'running' or session.status == 'cancelling' then found = 'working' end
  end
  return found
end

---@type table<acp.Progress, fun(state: acp.Progress)>
local show = {}

function show.osc(state) require('acp.features.progress.terminal').show(state) end

function show.message(state) require('acp.features.progress.message').show(state) end

local last = {} ---@type table<string, acp.Progress> by way

--- Show the present state in each way in which it is not shown.
local function update()
  local ways, state = chosen(), state_to_show()
  for _, way in ipairs(WAYS) do
    local wanted = ways[way] and state or 'none'
    if wanted ~= (last[way] or 'none') then
      last[way] = wanted
      show[way](wanted)
    end
  end
end

M.watch = require('acp.base.once')(function()
  local on = require('acp.base.autocmds').group('acp.progress')
  on('User', update, { pattern = 'AcpState' })
  on('VimLeavePre', function()
    if (last.osc or 'none') ~= 'none' then show.osc('none') end
  end)
end)

return M
