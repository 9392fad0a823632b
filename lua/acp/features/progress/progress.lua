--- State of all turns together, shown in the ways of the option `progress`.
local M = {}

---@alias acp.Progress 'working'|'waiting'|'none'

local WAYS = { 'osc', 'message' }

---@return string[]
local function chosen()
  local option = require('acp.config').get().progress
  return option == true and WAYS or option or {} --[[@as string[] ]]
end

--- Return `waiting` if any session is waiting for the user, else `working` if any is working, else
--- `none`.
---@return acp.Progress
local function state_to_show()
  local activity, state = require('acp.ui.activity'), 'none'
  for _, session in pairs(require('acp.base.state').get().sessions) do
    if activity.question_count(session) > 0 then return 'waiting' end
    if session.status == 'running' or session.status == 'cancelling' then state = 'working' end
  end
  return state
end

---@type table<string, fun(state: acp.Progress)> by way
local show = {}

function show.osc(state) require('acp.features.progress.terminal').show(state) end

local id ---@type integer|string|nil of the progress message

--- Show a message of Neovim (|progress-message|, 0.12).
function show.message(state)
  if vim.fn.has('nvim-0.12') == 0 then return end
  local has_ended = state == 'none'
  local messages = require('acp.base.messages')
  local text = has_ended and messages.progress_ended
    or state == 'waiting' and messages.progress_waiting
    or messages.progress_working
  local shown = vim.api.nvim_echo({ { text } }, false, {
    kind = 'progress',
    id = id,
    source = 'acp.nvim',
    title = 'acp',
    status = has_ended and 'success' or 'running',
    percent = has_ended and 100 or 0, -- required by Neovim's own listener
  })
  id = not has_ended and shown or nil
end

local last = {} ---@type table<string, acp.Progress> by way

--- Show the current state in each way that does not show it yet.
local function update()
  local ways, state = chosen(), state_to_show()
  for _, way in ipairs(WAYS) do
    local wanted = vim.tbl_contains(ways, way) and state or 'none'
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
