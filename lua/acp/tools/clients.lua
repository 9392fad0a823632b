--- Language servers of a buffer: which there are, requests to them, and waiting until one starts.
local M = {}

local api = vim.api
local compat = require('acp.base.compat')

--- A server that says that its text has just changed, or that it cancelled the request itself (LSP
--- 3.17, ErrorCodes), is asked again.
local AGAIN, AGAIN_MS = { [-32801] = true, [-32802] = true }, 100

--- The words of an error, on one line.
---@param err any
local function words(err)
  local text = type(err) == 'table' and err.message or err
  return (vim.trim(tostring(text)):gsub('%s+', ' '):sub(1, 300))
end

--- Ask one server. `done(err, result)` is called once, unless the function that is returned was
--- called before, which cancels the request.
---@param client vim.lsp.Client
---@param method string
---@param params table
---@param bufnr integer
---@param limit_ms integer it gives up then
---@param done fun(err?: string, result?: any)
---@return fun() cancel
function M.ask(client, method, params, bufnr, limit_ms, done)
  local id, over, detached, timer

  local function stop()
    over = true
    if not timer:is_closing() then timer:close() end
    if detached then pcall(api.nvim_del_autocmd, detached) end
  end
  local function finish(err, result)
    if over then return end
    stop()
    done(err and ('%s: %s'):format(client.name, words(err)), result)
  end
  local function send()
    if over then return end
    local sent
    sent, id = compat.lsp_request(client, method, params, function(err, result)
      if err and AGAIN[err.code] then return vim.defer_fn(send, AGAIN_MS) end
      finish(err, result)
    end, bufnr)
    if not sent then finish('has stopped') end
  end

  timer = vim.defer_fn(function()
    if over then return end
    if id then compat.lsp_cancel(client, id) end
    finish(('gave no answer within %g s'):format(limit_ms / 1000))
  end, limit_ms)
  detached = require('acp.base.autocmds').in_buffer(bufnr, 'LspDetach', function(args)
    if args.data.client_id == client.id then finish('has stopped') end
  end)
  send()
  return function()
    if over then return end
    stop()
    if id then compat.lsp_cancel(client, id) end
  end
end

--- The servers of a buffer that know a method, or one of them alone.
---@param bufnr integer
---@param method string
---@param only? integer id of a client
---@return vim.lsp.Client[]
function M.of(bufnr, method, only)
  local found = vim.lsp.get_clients({ bufnr = bufnr, id = only })
  return vim.tbl_filter(
    function(client) return compat.lsp_supports(client, method, bufnr) end,
    found
  )
end

local function names(clients)
  return table.concat(vim.tbl_map(function(client) return client.name end, clients), ', ')
end

--- Servers that have been started for the buffer and have not said yet what they can do.
local function starting(bufnr)
  return vim.tbl_filter(
    function(client) return not client.initialized end,
    vim.lsp.get_clients({ bufnr = bufnr, _uninitialized = true })
  )
end

--- Why there is no server to ask, for the model.
local function why_none(bufnr, method)
  local file = vim.fs.basename(api.nvim_buf_get_name(bufnr))
  local coming, there = starting(bufnr), vim.lsp.get_clients({ bufnr = bufnr })
  if #coming > 0 then
    return ('the language server %s is still starting: ask again'):format(names(coming))
  elseif #there > 0 then
    return ('%s does not know %s'):format(names(there), method)
  end
  return 'no language server for ' .. file
end

--- Whether a server says that it is at work, on its first look at the project perhaps.
---@param client vim.lsp.Client
function M.is_busy(client)
  local pending = client.progress and client.progress.pending
  return pending ~= nil and next(pending) ~= nil
end

--- Wait until none of these servers is at work, for so long at most; `done` is called once, unless
--- the function that is returned was called before.
---@param clients vim.lsp.Client[]
---@param wait_ms integer
---@param done fun()
---@return fun() cancel
function M.settled(clients, wait_ms, done)
  local over, progress = not vim.iter(clients):any(M.is_busy), nil
  if over then
    done()
    return function() end
  end
  local function stop()
    if over then return false end
    over = true
    api.nvim_del_autocmd(progress)
    return true
  end
  local function finish()
    if stop() then done() end
  end
  progress = api.nvim_create_autocmd('LspProgress', {
    callback = vim.schedule_wrap(function()
      if not vim.iter(clients):any(M.is_busy) then finish() end
    end),
  })
  vim.defer_fn(finish, wait_ms)
  return stop
end

---@class acp.WaitForClients
---@field method string
---@field only? integer id of a client
---@field wait_ms integer as long as none has been started
---@field starting_ms? integer as long as one is starting; not less than `wait_ms`

--- Wait until a server of the buffer knows a method. `done(clients, why)` is called once, unless
--- the function that is returned was called before.
---@param bufnr integer
---@param wait acp.WaitForClients
---@param done fun(clients?: vim.lsp.Client[], why?: string)
---@return fun() cancel
function M.wait(bufnr, wait, done)
  local found = M.of(bufnr, wait.method, wait.only)
  local over = #found > 0 or wait.only ~= nil
  if over then
    local why = #found == 0 and why_none(bufnr, wait.method) or nil
    done(#found > 0 and found or nil, why)
    return function() end
  end
  local attached

  local function finish(clients, why)
    if over then return end
    over = true
    api.nvim_del_autocmd(attached)
    done(clients, why)
  end
  local function look()
    if over then return end
    if not api.nvim_buf_is_loaded(bufnr) then return finish(nil, 'the buffer was closed') end
    found = M.of(bufnr, wait.method)
    if #found > 0 then finish(found) end
  end
  local function give_up()
    look()
    if not over then finish(nil, why_none(bufnr, wait.method)) end
  end

  attached = api.nvim_create_autocmd('LspAttach', {
    callback = function(args)
      if args.buf == bufnr then vim.schedule(look) end -- it is one of the buffer's after this
    end,
  })
  vim.defer_fn(function()
    local more = (wait.starting_ms or 0) - wait.wait_ms
    if over or more <= 0 or #starting(bufnr) == 0 then return give_up() end
    vim.defer_fn(give_up, more)
  end, wait.wait_ms)
  return function()
    if not over then api.nvim_del_autocmd(attached) end
    over = true
  end
end

return M
