--- Notification at the end of each turn.
local M = {}

local ends = {
  end_turn = 'turn_ended',
  max_tokens = 'turn_at_token_limit',
  max_turn_requests = 'turn_at_request_limit',
  refusal = 'turn_refused',
}

local function on_turn_end(data)
  if data.stop_reason == 'cancelled' or vim.g.acp_focused ~= false then return end
  local name = data.error and 'turn_failed' or ends[data.stop_reason] or ends.end_turn
  local session = require('acp.base.state').get().sessions[data.session or -1] or {}
  local agent = require('acp.ui.activity').agent(session.agent or 'acp')
  require('acp.features.notifications.ways').notify({
    kind = 'turn',
    session = data.session,
    message = require('acp.base.messages')[name]:format(agent),
  })
end

function M.watch()
  local on = require('acp.base.autocmds').group('acp.notify')
  on('User', function(args) on_turn_end(args.data or {}) end, { pattern = 'AcpTurnEnd' })
end

return M
