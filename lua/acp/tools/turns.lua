--- What the tools do when turns begin and end.
local M = {}

--- A prompt is about to be sent.
---@param session integer
function M.began(session)
  require('acp.tools.show').clear(session)
  require('acp.tools.diagnostics').turn_begins(session)
end

--- A turn is over.
---@param session integer
function M.ended(session) require('acp.tools.hidden').let_go(session) end

--- A session is closed.
---@param session integer
function M.closed(session)
  M.ended(session)
  require('acp.tools.show').clear(session)
  require('acp.tools.diagnostics').forget(session)
end

return M
