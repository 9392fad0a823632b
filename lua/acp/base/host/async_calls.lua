--- Lua functions that answer the host later because they wait for a language server, a program or a
--- user's tool. The host starts them with an id; the verb `async_reply` returns the result.
local M = {}

---@class acp.AsyncCall
---@field cancel? fun()

local calls = {} ---@type table<integer, acp.AsyncCall> calls without a reply

--- Callback for the result. It takes effect once and may be called from any context.
---@alias acp.Reply fun(value: any, err?: string)

local function answer(id, call, value, err)
  if calls[id] ~= call then return end -- answered or cancelled
  calls[id] = nil
  require('acp.base.host').notify('async_reply', {
    id = id,
    value = value,
    error = err ~= nil and tostring(err) or nil,
  })
end

--- Call `require(module)[name](reply, ...)` and send the host the value passed to `reply`, or the
--- error. If the call returns a function, that function cancels it.
---@param id integer
---@param module string
---@param name string
function M.begin(id, module, name, ...)
  local call = {} ---@type acp.AsyncCall
  calls[id] = call
  local reply = vim.schedule_wrap(function(value, err) answer(id, call, value, err) end)
  local ok, cancel = pcall(require(module)[name], reply, ...)
  if not ok then
    answer(id, call, nil, require('acp.base.text.error_message')(cancel))
  elseif vim.is_callable(cancel) then
    call.cancel = cancel
  end
end

---@param id integer
function M.cancel(id)
  local call = calls[id]
  calls[id] = nil
  if call and call.cancel then call.cancel() end
end

--- Cancel all calls after the host has exited, because the next host reuses their ids.
function M.on_host_exit() vim.iter(vim.tbl_keys(calls)):each(M.cancel) end

return M
