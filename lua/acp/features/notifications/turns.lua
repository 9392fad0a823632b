--- Notification at the end of each turn.
local M = {}

local ends = {
  end_turn = 'turn_ended',
  max_tokens = 'turn_at_token_limit',
  max_turn_requests = 'turn_at_request_limit',
  refusal = 'turn_refused',
}

---@param turn table data of |AcpTurnEnd|
local function on_turn_end(turn)
  if turn.stop_reason == 'cancelled' or vim.g.acp_focused ~= false then return end
  local name = turn.error and 'turn_failed' or ends[turn.stop_reason] or ends.end_turn
  local session = require('acp.base.state').get().sessions[turn.session or -1] or {}
  local agent = require('acp.ui.activity').agent(session.agent or 'acp')
  require('acp.features.notifications.ways').notify({
    kind = 'turn',
    session = turn.session,
    message = require('acp.base.messages')[name]:format(agent),
  })
end

function M.watch()
  local on = require('acp.base.autocmds').group('acp.notify')
  on('User', function(args) on_turn_end(args.data or {}) end, { pattern = 'AcpTurnEnd' })
end

return M
