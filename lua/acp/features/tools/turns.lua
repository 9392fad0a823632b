--- Hooks of the tools at the start and end of turns.
local M = {}

--- Remove the marks of the session's last turn, and record the diagnostics before the next one.
---@param session integer
function M.on_began(session)
  require('acp.features.tools.show').clear(session)
  require('acp.buffers.language.diagnostics').turn_begins(session)
end

--- Unload the files that were loaded for the turn that has ended.
---@param session integer
function M.on_ended(session) require('acp.buffers.language.hidden').unload(session) end

--- Unload the files, remove the marks and forget the diagnostics of a closed session.
---@param session integer
function M.on_closed(session)
  M.on_ended(session)
  require('acp.features.tools.show').clear(session)
  require('acp.buffers.language.diagnostics').forget(session)
end

return M
