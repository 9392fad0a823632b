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
  local is_over = false
  local request_id ---@type integer|nil the request that waits for its answer
  local timer, stop_watching

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
  local function cancel_request()
    if request_id then compat.lsp_cancel(client, request_id) end
  end
  local function cancel()
    if is_over then return end
    stop()
    cancel_request()
  end
  local function give_up()
    if is_over then return end
    cancel_request()
    finish(('gave no answer within %g s'):format(limit_ms / 1000))
  end

  local send
  local function send_again() vim.defer_fn(send, RETRY_MS) end
  local function on_answer(err, result)
    request_id = nil
    if err and RETRIED[err.code] then return send_again() end
    finish(err, result)
  end
  send = function()
    if is_over then return end
    local is_sent
    is_sent, request_id = compat.lsp_request(client, method, params, on_answer, bufnr)
    if not is_sent then finish('has stopped') end
  end
  local function on_request_event(data)
    if data.request_id ~= request_id or data.request.type ~= 'complete' then return end
    -- `on_answer` has run by then, unless Neovim has dropped the answer.
    vim.schedule(function()
      if data.request_id == request_id then send_again() end
    end)
  end

  timer = vim.defer_fn(give_up, limit_ms)
  stop_watching = watch(client, bufnr, {
    LspDetach = function() finish('has stopped') end,
    LspRequest = on_request_event,
  })
  send()
  return cancel
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
  local function is_any_busy() return vim.iter(clients):any(M.is_busy) end
  if not is_any_busy() then
    done()
    return function() end
  end
  local is_over = false
  local autocmd ---@type integer

  local function stop()
    if not is_over then api.nvim_del_autocmd(autocmd) end
    is_over = true
  end
  local function finish()
    if is_over then return end
    stop()
    done()
  end

  autocmd = api.nvim_create_autocmd('LspProgress', {
    callback = vim.schedule_wrap(function()
      if not is_any_busy() then finish() end
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
  local present = M.supporting(bufnr, wait.method, wait.only)
  if #present > 0 then
    done(present)
    return function() end
  elseif wait.only then
    done(nil, why_no_client(bufnr, wait.method))
    return function() end
  end
  local is_over = false
  local autocmd ---@type integer

  local function stop()
    if not is_over then api.nvim_del_autocmd(autocmd) end
    is_over = true
  end
  local function finish(clients, why)
    stop()
    done(clients, why)
  end
  local function check()
    if is_over then return end
    if not api.nvim_buf_is_loaded(bufnr) then return finish(nil, 'the buffer was closed') end
    local clients = M.supporting(bufnr, wait.method)
    if #clients > 0 then finish(clients) end
  end
  local function give_up()
    check()
    if not is_over then finish(nil, why_no_client(bufnr, wait.method)) end
  end

  autocmd = api.nvim_create_autocmd('LspAttach', {
    callback = function(args)
      if args.buf == bufnr then vim.schedule(check) end -- it is attached after this event
    end,
  })
  vim.defer_fn(function()
    local more_ms = (wait.starting_ms or 0) - wait.wait_ms
    if is_over or more_ms <= 0 or #starting(bufnr) == 0 then return give_up() end
    vim.defer_fn(give_up, more_ms)
  end, wait.wait_ms)
  return stop
end

return M
