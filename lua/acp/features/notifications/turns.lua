--- Notification at the end of each turn.
local M = {}

local ends = {
  end_turn = 'turn_ended',
  max_tokens = 'turn_at_token_limit',
  max_turn_requests = 'turn_at_request_limit',
  refusal = 'turn_refused',
}

--- Return the display name of a session's agent.
local function agent(n)
  local state = require('acp.base.state').get()
  local name = (state.sessions[n or -1] or {}).agent or 'acp'
  local info = (state.agents[name] or {}).info or {}
  return info.title or info.name or (name:sub(1, 1):upper() .. name:sub(2))
end

local function on_turn_end(data)
  if data.stop_reason == 'cancelled' or vim.g.acp_focused ~= false then return end
  local name = data.error and 'turn_failed' or ends[data.stop_reason] or ends.end_turn
  require('acp.features.notifications.ways').notify({
    kind = 'turn',
    session = data.session,
    message = require('acp.base.messages')[name]:format(agent(data.session)),
  })
end

function M.watch()
  local on = require('acp.base.autocmds').group('acp.notify')
  on('User', function(args) on_turn_end(args.data or {}) end, { pattern = 'AcpTurnEnd' })
end

return M
