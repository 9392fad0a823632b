--- Requests to the host that it answers later with the frame operation `reply`.
local M = {}

local asked = 0
local waiting = {} ---@type table<integer, fun(reply: any)>

--- Register a request and return its id.
---@param on_reply? fun(reply: any)
---@return integer id
function M.expect(on_reply)
  asked = asked + 1
  waiting[asked] = on_reply
  return asked
end

--- Frame operation: pass an answer to the callback of its request.
---@param id integer
---@param reply any[]
function M.on_reply(id, reply)
  local on_reply = waiting[id]
  waiting[id] = nil
  if on_reply then on_reply(reply) end
end

--- Forget all requests after the host has exited.
function M.on_host_exit() waiting = {} end

return M
