--- Hooks of the tools at the start and end of turns.
local M = {}

--- Called when a prompt is about to be sent.
---@param session integer
function M.on_began(session)
  require('acp.features.tools.show').clear(session)
  require('acp.buffers.language.diagnostics').turn_begins(session)
end

--- Called at the end of a turn.
---@param session integer
function M.on_ended(session) require('acp.buffers.language.hidden').unload(session) end

--- Called when a session was closed.
---@param session integer
function M.on_closed(session)
  M.on_ended(session)
  require('acp.features.tools.show').clear(session)
  require('acp.buffers.language.diagnostics').forget(session)
end

return M
