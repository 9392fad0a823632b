--- Records of whether language servers have published diagnostics for the last change to a buffer:
--- the version last sent to each server, and the version of its last diagnostics.
local M = {}

local api = vim.api
local PULL, PUBLISH = 'textDocument/diagnostic', 'textDocument/publishDiagnostics'

--- Number of timeouts, of at least `LONG_MS` each, after which a server that has never published
--- diagnostics is no longer waited for. Many servers only complete or format.
local MAX_TIMEOUTS, LONG_MS = 2, 1000

local sent = {} ---@type table<integer, table<integer, integer>> version sent, by client and buffer
local published = {} ---@type table<integer, table<integer, integer>> version of the diagnostics
local ever = {} ---@type table<integer, true> clients that have published diagnostics
local assumed = {} ---@type table<integer, true> silent clients that existed before the watch began
local timeouts = {} ---@type table<integer, integer> by client
local hidden = {} ---@type table<integer, table<integer, true>> namespaces just set, by buffer
local waiting = {} ---@type table<fun(), true>
--- Client and version of the diagnostics that Neovim is currently setting.
local publishing ---@type { client: integer, version?: integer }|nil

local function set(of, client, bufnr, version)
  of[client] = of[client] or {}
  of[client][bufnr] = version
end

local function get(of, client, bufnr) return of[client] and of[client][bufnr] end

local function check_waiting()
  for check in pairs(vim.deepcopy(waiting, true)) do
    check()
  end
end

--- Record that a server has published diagnostics. Without a version they count for the version
--- last sent.
local function on_published(client, bufnr)
  ever[client] = true
  local own = publishing and publishing.client == client and publishing.version
  local version = own or get(sent, client, bufnr) or vim.lsp.util.buf_versions[bufnr]
  set(published, client, bufnr, math.max(version or -1, get(published, client, bufnr) or -1))
end

--- Wrap the handler of publishDiagnostics to record the version, which Neovim drops.
local function record_versions()
  local publish = vim.lsp.handlers[PUBLISH]
  if not publish then return end
  rawset(vim.lsp.handlers, PUBLISH, function(err, params, ctx, ...)
    local version = type(params) == 'table' and tonumber(params.version) or nil
    publishing = type(ctx) == 'table' and { client = ctx.client_id, version = version } or nil
    local ok, result = pcall(publish, err, params, ctx, ...)
    publishing = nil
    if not ok then error(result, 0) end
    return result
  end)
end

--- Handle a change to a buffer's diagnostics. Record a publication by each server whose namespace
--- was just hidden or that is publishing now, and end waits that are complete.
---@param bufnr integer
function M.on_changed(bufnr)
  if not package.loaded['vim.lsp'] then return end
  local spaces = hidden[bufnr] or {}
  hidden[bufnr] = nil
  for _, client in ipairs(vim.lsp.get_clients({ bufnr = bufnr })) do
    local namespace = vim.lsp.diagnostic.get_namespace(client.id, false)
    local is_publishing = publishing and publishing.client == client.id
    if spaces[namespace] or is_publishing then on_published(client.id, bufnr) end
  end
  vim.schedule(check_waiting)
end

--- Watch the diagnostics that Neovim receives.
local hook = require('acp.base.once')(function()
  record_versions()
  -- `hide` receives the namespace, even if it has no diagnostics any more.
  rawset(vim.diagnostic.handlers, 'acp/publications', {
    hide = function(namespace, bufnr)
      hidden[bufnr] = hidden[bufnr] or {}
      hidden[bufnr][namespace] = true
    end,
  })
end)

local function on_notify(args)
  hook()
  local document = (args.data.params or {}).textDocument
  local has_changed = args.data.method == 'textDocument/didOpen'
    or args.data.method == 'textDocument/didChange'
  if not has_changed or not document then return end
  set(sent, args.data.client_id, vim.uri_to_bufnr(document.uri), document.version)
end

local function has_diagnostics(client)
  local namespace = vim.lsp.diagnostic.get_namespace(client.id, false)
  return next(vim.diagnostic.count(nil, { namespace = namespace })) ~= nil or nil
end

--- Record the running servers. Each is assumed to have published its diagnostics, unless it has
--- none and is busy.
local function record_running()
  for _, client in ipairs(vim.lsp.get_clients()) do
    ever[client.id] = has_diagnostics(client)
    assumed[client.id] = not ever[client.id] or nil
    for bufnr in pairs(client.attached_buffers) do
      set(sent, client.id, bufnr, vim.lsp.util.buf_versions[bufnr])
      set(published, client.id, bufnr, vim.lsp.util.buf_versions[bufnr])
    end
  end
end

--- Watch the diagnostics of servers from now on. Until Neovim has loaded `vim.lsp`, which takes 10
--- ms, no server runs.
M.watch = require('acp.base.once')(function()
  if package.loaded['vim.lsp'] then
    record_running()
    hook()
  end
  local on = require('acp.base.autocmds').group('acp.publications')
  on('LspNotify', on_notify)
  -- A command, because a function would receive a copy of all diagnostics.
  on(
    'DiagnosticChanged',
    "lua require('acp.buffers.language.publications').on_changed(tonumber(vim.fn.expand('<abuf>')))"
  )
  on('LspProgress', function() vim.schedule(check_waiting) end)
  on('LspDetach', function(args)
    set(sent, args.data.client_id, args.buf, nil)
    set(published, args.data.client_id, args.buf, nil)
    vim.schedule(check_waiting)
  end)
end)

--- Return the servers of a buffer that have not published diagnostics for a version, by default the
--- last one.
---@param bufnr integer
---@param version? integer
---@return vim.lsp.Client[]
function M.silent(bufnr, version)
  version = version or vim.lsp.util.buf_versions[bufnr] or -1
  local busy = require('acp.buffers.language.clients').is_busy
  local function is_outstanding(client)
    local last = get(published, client.id, bufnr) or -1
    if assumed[client.id] and not ever[client.id] and busy(client) then last = -1 end
    local is_worth_waiting = ever[client.id] or (timeouts[client.id] or 0) < MAX_TIMEOUTS
    return last < version and is_worth_waiting
  end
  return vim.tbl_filter(is_outstanding, vim.lsp.get_clients({ bufnr = bufnr }))
end

--- Request diagnostics from the servers that support pull diagnostics.
---@return fun()[] cancels
local function pull(bufnr, limit_ms)
  local cancels, clients = {}, require('acp.buffers.language.clients')
  for _, client in ipairs(M.silent(bufnr)) do
    if require('acp.base.compat').lsp_supports(client, PULL, bufnr) then
      local version = vim.lsp.util.buf_versions[bufnr]
      local params = { textDocument = { uri = vim.uri_from_bufnr(bufnr) } }
      local function answered(err, result)
        if not err and result and api.nvim_buf_is_loaded(bufnr) then
          local context = { client_id = client.id, bufnr = bufnr, method = PULL, params = params }
          pcall(vim.lsp.diagnostic.on_diagnostic, nil, result, context)
        end
        ever[client.id] = true
        set(published, client.id, bufnr, version)
        check_waiting()
      end
      cancels[#cancels + 1] = clients.ask(client, PULL, params, bufnr, limit_ms, answered)
    end
  end
  return cancels
end

--- Count a timeout for the servers that are still outstanding.
local function count_timeouts(bufnrs)
  local clients = {}
  for _, bufnr in ipairs(bufnrs) do
    for _, client in ipairs(M.silent(bufnr)) do
      clients[client.id] = true
    end
  end
  for client in pairs(clients) do
    timeouts[client] = (timeouts[client] or 0) + 1
  end
end

--- Wait until the servers of these buffers have published diagnostics for the current text; later
--- changes are ignored. `done` is called once, unless the returned function cancels the wait first.
---@param bufnrs integer[]
---@param wait_ms integer
---@param done fun()
---@return fun() cancel
function M.wait(bufnrs, wait_ms, done)
  local is_over, cancels, check = false, {}, nil
  local versions = {} ---@type table<integer, integer>
  for _, bufnr in ipairs(bufnrs) do
    versions[bufnr] = vim.lsp.util.buf_versions[bufnr]
  end
  local function stop()
    is_over = true
    waiting[check] = nil
    for _, cancel in ipairs(cancels) do
      cancel()
    end
  end
  local function is_outstanding(bufnr)
    return api.nvim_buf_is_loaded(bufnr) and #M.silent(bufnr, versions[bufnr]) > 0
  end
  function check()
    if is_over or vim.iter(bufnrs):any(is_outstanding) then return end
    stop()
    done()
  end
  waiting[check] = true
  for _, bufnr in ipairs(bufnrs) do
    vim.list_extend(cancels, pull(bufnr, math.max(wait_ms, 1)))
  end
  check()
  if not is_over then
    vim.defer_fn(function()
      if is_over then return end
      stop()
      if wait_ms >= LONG_MS then count_timeouts(bufnrs) end
      done()
    end, wait_ms)
  end
  return function()
    if not is_over then stop() end
  end
end

return M
