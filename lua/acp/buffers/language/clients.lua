--- Language servers of a buffer: lookup, requests, and waiting for one to start.
local M = {}

local api = vim.api
local compat = require('acp.base.compat')

--- Error codes after which a request is sent again (LSP 3.17, ErrorCodes): ContentModified and
--- ServerCancelled.
local RETRIED, RETRY_MS = { [-32801] = true, [-32802] = true }, 100

--- Return the message of an error on one line.
---@param err any
local function error_text(err)
  local text = type(err) == 'table' and err.message or err
  return (vim.trim(tostring(text)):gsub('%s+', ' '):sub(1, 300))
end

--- Call functions at events of a client in a buffer.
---@param client vim.lsp.Client
---@param bufnr integer
---@param callbacks table<string, fun(data: table)> by event
---@return fun() stop
local function watch(client, bufnr, callbacks)
  local autocmds = {} ---@type integer[]
  for event, callback in pairs(callbacks) do
    local function handle(args)
      if args.data.client_id == client.id then callback(args.data) end
    end
    table.insert(autocmds, require('acp.base.autocmds').in_buffer(bufnr, event, handle))
  end
  return function()
    for _, autocmd in ipairs(autocmds) do
      pcall(api.nvim_del_autocmd, autocmd)
    end
  end
end

--- Send a request to one server. `done(err, result)` is called once, unless the returned function
--- cancels the request first. When Neovim sends a request of the same method itself, it cancels all
--- others and drops the answer. Then the request is sent again.
---@param client vim.lsp.Client
---@param method string
---@param params table
---@param bufnr integer
---@param limit_ms integer timeout
---@param done fun(err?: string, result?: any)
---@return fun() cancel
function M.ask(client, method, params, bufnr, limit_ms, done)
  local id, is_over, timer, stop_watching

  local function stop()
    is_over = true
    if not timer:is_closing() then timer:close() end
    stop_watching()
  end
  local function finish(err, result)
    if is_over then return end
    stop()
    done(err and ('%s: %s'):format(client.name, error_text(err)), result)
  end
  local function send()
    if is_over then return end
    local sent
    sent, id = compat.lsp_request(client, method, params, function(err, result)
      id = nil
      if err and RETRIED[err.code] then return vim.defer_fn(send, RETRY_MS) end
      finish(err, result)
    end, bufnr)
    if not sent then finish('has stopped') end
  end

  timer = vim.defer_fn(function()
    if is_over then return end
    if id then compat.lsp_cancel(client, id) end
    finish(('gave no answer within %g s'):format(limit_ms / 1000))
  end, limit_ms)
  stop_watching = watch(client, bufnr, {
    LspDetach = function() finish('has stopped') end,
    LspRequest = function(data)
      if data.request_id ~= id or data.request.type ~= 'complete' then return end
      vim.schedule(function()
        if id == data.request_id then vim.defer_fn(send, RETRY_MS) end
      end)
    end,
  })
  send()
  return function()
    if is_over then return end
    stop()
    if id then compat.lsp_cancel(client, id) end
  end
end

--- Return the servers of a buffer that support a method.
---@param bufnr integer
---@param method string
---@param only? integer id of the only client to return
---@return vim.lsp.Client[]
function M.supporting(bufnr, method, only)
  local attached = vim.lsp.get_clients({ bufnr = bufnr, id = only })
  return vim.tbl_filter(
    function(client) return compat.lsp_supports(client, method, bufnr) end,
    attached
  )
end

local function names(clients)
  return table.concat(vim.tbl_map(function(client) return client.name end, clients), ', ')
end

--- Return servers of the buffer that are not initialized yet.
local function starting(bufnr)
  return vim.tbl_filter(
    function(client) return not client.initialized end,
    vim.lsp.get_clients({ bufnr = bufnr, _uninitialized = true })
  )
end

--- Return why there is no server, for the model.
local function why_no_client(bufnr, method)
  local file = vim.fs.basename(api.nvim_buf_get_name(bufnr))
  local pending, attached = starting(bufnr), vim.lsp.get_clients({ bufnr = bufnr })
  if #pending > 0 then
    return ('the language server %s is still starting: ask again'):format(names(pending))
  elseif #attached > 0 then
    return ('%s does not know %s'):format(names(attached), method)
  end
  return 'no language server for ' .. file
end

--- Return whether a server reports work in progress, such as indexing the project.
---@param client vim.lsp.Client
function M.is_busy(client)
  local pending = client.progress and client.progress.pending
  return pending ~= nil and next(pending) ~= nil
end

--- Wait until all of these servers are idle, for at most `wait_ms`. `done` is called once, unless
--- the returned function cancels the wait first.
---@param clients vim.lsp.Client[]
---@param wait_ms integer
---@param done fun()
---@return fun() cancel
function M.wait_idle(clients, wait_ms, done)
  local is_over, progress = not vim.iter(clients):any(M.is_busy), nil
  if is_over then
    done()
    return function() end
  end
  local function stop()
    if is_over then return false end
    is_over = true
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
---@field wait_ms integer longest wait if no server is starting
---@field starting_ms? integer longest wait if one is starting; at least `wait_ms`

--- Wait until a server of the buffer supports a method. `done(clients, why)` is called once, unless
--- the returned function cancels the wait first.
---@param bufnr integer
---@param wait acp.WaitForClients
---@param done fun(clients?: vim.lsp.Client[], why?: string)
---@return fun() cancel
function M.wait(bufnr, wait, done)
  local supporting = M.supporting(bufnr, wait.method, wait.only)
  local is_over = #supporting > 0 or wait.only ~= nil
  if is_over then
    local why = #supporting == 0 and why_no_client(bufnr, wait.method) or nil
    done(#supporting > 0 and supporting or nil, why)
    return function() end
  end
  local attached

  local function finish(clients, why)
    if is_over then return end
    is_over = true
    api.nvim_del_autocmd(attached)
    done(clients, why)
  end
  local function check()
    if is_over then return end
    if not api.nvim_buf_is_loaded(bufnr) then return finish(nil, 'the buffer was closed') end
    supporting = M.supporting(bufnr, wait.method)
    if #supporting > 0 then finish(supporting) end
  end
  local function give_up()
    check()
    if not is_over then finish(nil, why_no_client(bufnr, wait.method)) end
  end

  attached = api.nvim_create_autocmd('LspAttach', {
    callback = function(args)
      if args.buf == bufnr then vim.schedule(check) end -- it is attached after this event
    end,
  })
  vim.defer_fn(function()
    local more = (wait.starting_ms or 0) - wait.wait_ms
    if is_over or more <= 0 or #starting(bufnr) == 0 then return give_up() end
    vim.defer_fn(give_up, more)
  end, wait.wait_ms)
  return function()
    if not is_over then api.nvim_del_autocmd(attached) end
    is_over = true
  end
end

return M
