--- Tool calls of a session (`:help acp.tool_calls()`).
local M = {}

--- Pass all tool calls to `on_reply`. The host has those that are no longer in the snapshot.
---@param n? integer session; nil means the current one
---@param on_reply fun(calls: acp.ToolCall[])
function M.request(n, on_reply)
  local host, state = require('acp.base.host'), require('acp.base.state')
  local session = state.session(n)
  if not session or not host.is_running() or not (session.more or {}).tool_calls then
    return on_reply(vim.deepcopy(session and session.tool_calls or {}))
  end
  local id = require('acp.base.host.replies').expect(on_reply)
  host.notify('tool_calls', { id = id, session = n or state.current() })
end

return M
