--- Which language servers have spoken on the last change of which buffer: what they were told, and
--- when diagnostics of theirs came after that.
local M = {}

local api = vim.api
local PULL, PUBLISH = 'textDocument/diagnostic', 'textDocument/publishDiagnostics'

--- A server that has never spoken is waited for so often, each time for at least so long: many only
--- complete or format.
local PATIENCE, LONG_MS = 2, 1000

local told = {} ---@type table<integer, table<integer, integer>> version by client and buffer
local spoken = {} ---@type table<integer, table<integer, integer>> the one that they spoke on
local ever = {} ---@type table<integer, true> clients that have spoken
local assumed = {} ---@type table<integer, true> clients that were there before they were watched
local vain = {} ---@type table<integer, integer> how often a client was waited for in vain
local hidden = {} ---@type table<integer, table<integer, true>> namespaces set just now, by buffer
local waiting = {} ---@type table<fun(), true>
--- Whose diagnostics are set just now, and of which version.
local published ---@type { client: integer, version?: integer }|nil

local function set(of, client, bufnr, version)
  of[client] = of[client] or {}
  of[client][bufnr] = version
end

local function get(of, client, bufnr) return of[client] and of[client][bufnr] end

local function look()
  for check in pairs(vim.deepcopy(waiting, true)) do
    check()
  end
end

--- Servers that name no version have spoken on what they were told last.
local function speaks(client, bufnr)
  ever[client] = true
  local said = published and published.client == client and published.version
  local version = said or get(told, client, bufnr) or vim.lsp.util.buf_versions[bufnr]
  set(spoken, client, bufnr, math.max(version or -1, get(spoken, client, bufnr) or -1))
end

--- Neovim drops the version of what a server publishes: it is noted on the way.
local function note_versions()
  local publish = vim.lsp.handlers[PUBLISH]
  if not publish then return end
  rawset(vim.lsp.handlers, PUBLISH, function(err, params, ctx, ...)
    local version = type(params) == 'table' and tonumber(params.version) or nil
    published = type(ctx) == 'table' and { client = ctx.client_id, version = version } or nil
    local ok, result = pcall(publish, err, params, ctx, ...)
    published = nil
    if not ok then error(result, 0) end
    return result
  end)
end

--- Diagnostics of a buffer were set: those of the namespaces that were taken off the screen just
--- before, or where none are shown, of the server that publishes.
---@param bufnr integer
function M.changed(bufnr)
  local spaces = hidden[bufnr] or {}
  hidden[bufnr] = nil
  for _, client in ipairs(vim.lsp.get_clients({ bufnr = bufnr })) do
    local namespace = vim.lsp.diagnostic.get_namespace(client.id, false)
    local publishes = published and published.client == client.id
    if spaces[namespace] or publishes then speaks(client.id, bufnr) end
  end
  vim.schedule(look)
end

local function on_notify(args)
  local document = (args.data.params or {}).textDocument
  local changed = args.data.method == 'textDocument/didOpen'
    or args.data.method == 'textDocument/didChange'
  if not changed or not document then return end
  set(told, args.data.client_id, vim.uri_to_bufnr(document.uri), document.version)
end

local function has_spoken(client)
  local namespace = vim.lsp.diagnostic.get_namespace(client.id, false)
  return next(vim.diagnostic.count(nil, { namespace = namespace })) ~= nil or nil
end

--- Servers that are there already have spoken on what they know, if they ever speak, and unless
--- they are at work.
local watch = require('acp.base.once')(function()
  for _, client in ipairs(vim.lsp.get_clients()) do
    ever[client.id] = has_spoken(client)
    assumed[client.id] = not ever[client.id] or nil
    for bufnr in pairs(client.attached_buffers) do
      set(told, client.id, bufnr, vim.lsp.util.buf_versions[bufnr])
      set(spoken, client.id, bufnr, vim.lsp.util.buf_versions[bufnr])
    end
  end
  note_versions()
  local on = require('acp.base.autocmds').group('acp.spoken')
  on('LspNotify', on_notify)
  -- A command, since a function would be given a copy of all of them.
  on(
    'DiagnosticChanged',
    "lua require('acp.tools.spoken').changed(tonumber(vim.fn.expand('<abuf>')))"
  )
  on('LspProgress', function() vim.schedule(look) end)
  on('LspDetach', function(args)
    set(told, args.data.client_id, args.buf, nil)
    set(spoken, args.data.client_id, args.buf, nil)
    vim.schedule(look)
  end)
  -- Neovim names the namespace here, also where its diagnostics are none any more.
  rawset(vim.diagnostic.handlers, 'acp/spoken', {
    hide = function(namespace, bufnr)
      hidden[bufnr] = hidden[bufnr] or {}
      hidden[bufnr][namespace] = true
    end,
  })
end)

--- Follow what servers say from now on.
function M.watch() watch() end

--- The servers of a buffer that have not spoken on a version of it, its last one unless told.
---@param bufnr integer
---@param version? integer
---@return vim.lsp.Client[]
function M.silent(bufnr, version)
  version = version or vim.lsp.util.buf_versions[bufnr] or -1
  local busy = require('acp.tools.clients').is_busy
  local function waited_for(client)
    local last = get(spoken, client.id, bufnr) or -1
    if assumed[client.id] and not ever[client.id] and busy(client) then last = -1 end
    local patient = ever[client.id] or (vain[client.id] or 0) < PATIENCE
    return last < version and patient
  end
  return vim.tbl_filter(waited_for, vim.lsp.get_clients({ bufnr = bufnr }))
end

--- Ask the servers that speak when they are asked.
---@return fun()[] cancels
local function pull(bufnr, limit_ms)
  local cancels, clients = {}, require('acp.tools.clients')
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
        set(spoken, client.id, bufnr, version)
        look()
      end
      cancels[#cancels + 1] = clients.ask(client, PULL, params, bufnr, limit_ms, answered)
    end
  end
  return cancels
end

--- These were waited for in vain.
local function note_vain(bufnrs)
  local clients = {}
  for _, bufnr in ipairs(bufnrs) do
    for _, client in ipairs(M.silent(bufnr)) do
      clients[client.id] = true
    end
  end
  for client in pairs(clients) do
    vain[client] = (vain[client] or 0) + 1
  end
end

--- Wait until the servers of these buffers have spoken on the last change before now, not on those
--- that follow; `done` is called once, unless the function that is returned was called before.
---@param bufnrs integer[]
---@param wait_ms integer
---@param done fun()
---@return fun() cancel
function M.wait(bufnrs, wait_ms, done)
  local over, cancels, check = false, {}, nil
  local versions = {} ---@type table<integer, integer>
  for _, bufnr in ipairs(bufnrs) do
    versions[bufnr] = vim.lsp.util.buf_versions[bufnr]
  end
  local function stop()
    over = true
    waiting[check] = nil
    for _, cancel in ipairs(cancels) do
      cancel()
    end
  end
  local function is_waited_for(bufnr)
    return api.nvim_buf_is_loaded(bufnr) and #M.silent(bufnr, versions[bufnr]) > 0
  end
  function check()
    if over or vim.iter(bufnrs):any(is_waited_for) then return end
    stop()
    done()
  end
  waiting[check] = true
  for _, bufnr in ipairs(bufnrs) do
    vim.list_extend(cancels, pull(bufnr, math.max(wait_ms, 1)))
  end
  check()
  if not over then
    vim.defer_fn(function()
      if over then return end
      stop()
      if wait_ms >= LONG_MS then note_vain(bufnrs) end
      done()
    end, wait_ms)
  end
  return function()
    if not over then stop() end
  end
end

return M
