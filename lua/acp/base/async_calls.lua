--- Functions of Lua that answer the host later: what waits for a language server, a program or a
--- user's tool. The host begins them with a number and hears the verb `async_reply`.
local M = {}

---@class acp.AsyncCall
---@field cancel? fun()

local calls = {} ---@type table<integer, acp.AsyncCall> those that wait

--- What a function is given to answer with: once, at any time, from any context.
---@alias acp.Reply fun(value: any, err?: string)

local function answer(id, call, value, err)
  if calls[id] ~= call then return end -- answered, or nobody waits
  calls[id] = nil
  require('acp.base.host').notify('async_reply', {
    id = id,
    value = value,
    error = err ~= nil and tostring(err) or nil,
  })
end

--- Call `require(module)[name](reply, ...)`; the host hears what `reply` is given, or the error.
--- A function that is returned cancels what it began.
---@param id integer
---@param module string
---@param name string
function M.begin(id, module, name, ...)
  local call = {} ---@type acp.AsyncCall
  calls[id] = call
  local reply = vim.schedule_wrap(function(value, err) answer(id, call, value, err) end)
  local ok, cancel = pcall(require(module)[name], reply, ...)
  if not ok then
    answer(id, call, nil, (tostring(cancel):gsub('^[^\n]-:%d+: ', '')))
  elseif vim.is_callable(cancel) then
    call.cancel = cancel
  end
end

--- Nobody waits for this call any more.
---@param id integer
function M.cancel(id)
  local call = calls[id]
  calls[id] = nil
  if call and call.cancel then call.cancel() end
end

--- The host is gone: the next one begins with the same numbers.
function M.host_gone()
  for _, id in ipairs(vim.tbl_keys(calls)) do
    M.cancel(id)
  end
end

return M
