--- Frames: batches of operations that the host sends in one request.
local M = {}

local features = require('acp.features')
local host = require('acp.base.host')

--- Operations of the folders below features: module and function. A module is loaded at its first
--- operation.
---@type table<string, {[1]: string, [2]: string}>
local OPERATIONS = {
  state = { 'acp.base.state', 'set' },
  calls = { 'acp.base.state', 'set_calls' },
  echo = { 'acp.base.notify', 'echo' },
  fault = { 'acp.base.installation.updated', 'show_fault' },
  reply = { 'acp.base.host.replies', 'on_reply' },
  show = { 'acp.ui.report', 'open' },
  select = { 'acp.ui.pick', 'select' },
  input = { 'acp.ui.pick', 'input' },
  secret = { 'acp.ui.pick', 'secret' },
  open_url = { 'acp.ui.jump', 'browse' },
  pending = { 'acp.buffers.watch', 'set_pending' },
  follow_journal = { 'acp.base.workspaces', 'follow' },
}

local functions = {}

local function resolve(name)
  local op = OPERATIONS[name]
  local fn = op and require(op[1])[op[2]] or features.find('frame', name)
  if not fn then error('acp: unknown frame operation ' .. tostring(name)) end
  functions[name] = fn
  return fn
end

functions.event = require('acp.base.events').fire

functions.events = require('acp.base.events').fire_all

--- Return the names of all operations.
---@return string[]
function M.names()
  local names = vim.list_extend({ 'event', 'events' }, vim.tbl_keys(OPERATIONS))
  return vim.list_extend(names, features.names('frame'))
end

---@alias acp.FrameOperation any[] the name of a function, then its arguments

--- Apply one frame.
---@param ops acp.FrameOperation[]
---@return {us: integer, errors: string[]} duration, and the errors of operations that failed
function M.apply(ops)
  local started = vim.uv.hrtime()
  host.on_frame()
  local errors = {}
  local has_changed = false
  for _, op in ipairs(ops) do
    local name = op[1]
    has_changed = has_changed or name == 'state' or name == 'calls'
    local ok, err = pcall(functions[name] or resolve(name), unpack(op, 2))
    if not ok then errors[#errors + 1] = ('%s: %s'):format(name, err) end
  end
  if has_changed then require('acp.base.state').announce_change() end
  return { us = math.floor((vim.uv.hrtime() - started) / 1000), errors = errors }
end

return M
