--- Functions of Lua that answer the host later: what waits for a language server, a program or a
--- user's tool. The host begins them with a number and hears the verb `async_reply`.
local M = {}

local cancels = {} ---@type table<integer, fun()|false> of calls that wait; false: it cannot be

--- What a function is given to answer with: once, at any time, from any context.
---@alias acp.Reply fun(value: any, err?: string)

local function answer(id, value, err)
  if cancels[id] == nil then return end -- answered, or nobody waits
  cancels[id] = nil
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
  cancels[id] = false
  local reply = vim.schedule_wrap(function(value, err) answer(id, value, err) end)
  local ok, cancel = pcall(require(module)[name], reply, ...)
  if not ok then
    answer(id, nil, (tostring(cancel):gsub('^[^\n]-:%d+: ', '')))
  elseif cancels[id] ~= nil and vim.is_callable(cancel) then
    cancels[id] = cancel
  end
end

--- Nobody waits for this call any more.
---@param id integer
function M.cancel(id)
  local cancel = cancels[id]
  cancels[id] = nil
  if cancel then cancel() end
end

return M
