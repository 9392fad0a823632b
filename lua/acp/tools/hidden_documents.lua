--- Documents that a language server has and Neovim does not: texts that an agent proposes, opened
--- in the folder of their file under a name of their own. What servers say of them is never shown
--- as diagnostics, and no request of anybody else's is answered while one is open.
local M = {}

local api = vim.api
local PUBLISH = 'textDocument/publishDiagnostics'
local NAME = 'acp_proposed_%d_%s'

--- How long a publication about another document is held back after ours was closed: the server
--- publishes again where ours was the reason.
local RELEASE_MS = 700

--- Requests whose answers name no other document and change nothing, ours among them.
local HARMLESS = {
  'diagnostic',
  'documentColor',
  'documentHighlight',
  'documentLink',
  'documentSymbol',
  'foldingRange',
  'hover',
  'inlayHint',
  'selectionRange',
  'semanticTokens/full',
  'semanticTokens/full/delta',
  'semanticTokens/range',
  'signatureHelp',
}

---@class acp.HiddenDocument
---@field client vim.lsp.Client
---@field uri string
---@field number integer
---@field language string
---@field version integer
---@field told table<string, integer> versions of other documents when this one was opened
---@field held table<string, any[]> publications about others since then, the last of each
---@field heard fun(version?: integer, diagnostics: table[])
---@field interrupted fun()

local open = {} ---@type table<integer, acp.HiddenDocument> by client
local late = {} ---@type table<integer, table<string, any[]>> held publications of closed ones
local guarded = setmetatable({}, { __mode = 'k' }) ---@type table<vim.lsp.Client, true>
local numbers = 0

--- The number of a document of ours by its URI; nil for any other.
---@param uri any
---@return integer|nil
function M.number(uri)
  local found = type(uri) == 'string' and uri:match('/acp_proposed_(%d+)_[^/]*$')
  return found and tonumber(found) or nil
end

--- The version of a document that the user has open.
local function version(uri)
  local path = vim.uri_to_fname(uri)
  local bufnr = vim.fn.bufexists(path) == 1 and vim.fn.bufnr(path) or -1
  return bufnr > 0 and vim.lsp.util.buf_versions[bufnr] or nil
end

--- Whether a publication about another document may be due to ours: nobody has changed that one.
---@param document acp.HiddenDocument
local function is_ours(document, uri)
  if vim.startswith(uri, 'file:') then
    document.told[uri] = document.told[uri]
      or document.told[vim.uri_from_fname(vim.uri_to_fname(uri))]
    return document.told[uri] == version(uri)
  end
  return false
end

---@param client vim.lsp.Client
local function guard_handler(client)
  local own = client.handlers[PUBLISH]
  local function forward(...) return (own or vim.lsp.handlers[PUBLISH])(...) end
  client.handlers[PUBLISH] = function(err, params, ctx, ...)
    local uri = type(params) == 'table' and params.uri
    if not uri or ctx.client_id ~= client.id then return forward(err, params, ctx, ...) end
    local document, number = open[client.id], M.number(uri)
    if number then
      if document and document.number == number then
        document.heard(tonumber(params.version), params.diagnostics or {})
      end
    elseif document and is_ours(document, uri) then
      document.held[uri] = { forward, err, params, ctx, ... }
    else
      if document then document.held[uri] = nil end
      if late[client.id] then late[client.id][uri] = nil end
      return forward(err, params, ctx, ...)
    end
  end
end

--- A request of somebody else's comes first: ours is closed before it.
---@param client vim.lsp.Client
local function guard_requests(client)
  local request = client.rpc.request
  client.rpc.request = function(method, ...)
    local document = open[client.id]
    local name = type(method) == 'string' and method:match('^textDocument/(.*)') or method
    if document and not vim.list_contains(HARMLESS, name) then
      M.close(document)
      document.interrupted()
    end
    return request(method, ...)
  end
end

---@param client vim.lsp.Client
local function guard(client)
  if guarded[client] then return end
  guarded[client] = true
  client.handlers = client.handlers or {}
  guard_handler(client)
  guard_requests(client)
end

--- Past Neovim, which would take it for a buffer's.
local function notify(document, method, params)
  return document.client.rpc.notify('textDocument/' .. method, params)
end

local function send_open(document, text)
  return notify(document, 'didOpen', {
    textDocument = {
      uri = document.uri,
      languageId = document.language,
      version = document.version,
      text = text,
    },
  })
end

local function send_close(document)
  return notify(document, 'didClose', { textDocument = { uri = document.uri } })
end

--- The versions of all documents of a client.
---@param client vim.lsp.Client
local function versions(client)
  local found = {}
  for bufnr in pairs(client.attached_buffers) do
    if api.nvim_buf_is_valid(bufnr) then
      found[vim.uri_from_bufnr(bufnr)] = vim.lsp.util.buf_versions[bufnr]
    end
  end
  return found
end

---@class acp.HiddenDocumentHooks
---@field heard fun(version?: integer, diagnostics: table[]) the server speaks on it
---@field interrupted fun() it was closed for a request of somebody else's

--- Open a text beside a file; nil where another one is open at this server, or it has stopped.
---@param client vim.lsp.Client
---@param path string of the file
---@param language string
---@param text string
---@param hooks acp.HiddenDocumentHooks
---@return acp.HiddenDocument|nil
function M.open(client, path, language, text, hooks)
  if open[client.id] then return nil end
  guard(client)
  numbers = numbers + 1
  local name = NAME:format(numbers, vim.fs.basename(path))
  local document = { ---@type acp.HiddenDocument
    client = client,
    uri = vim.uri_from_fname(vim.fs.joinpath(vim.fs.dirname(path), name)),
    number = numbers,
    language = language,
    version = 0,
    told = versions(client),
    held = {},
    heard = hooks.heard,
    interrupted = hooks.interrupted,
  }
  if not send_open(document, text) then return nil end
  open[client.id] = document
  return document
end

--- How a server is told of changes (LSP 3.17, TextDocumentSyncKind).
local function sync_kind(client)
  local sync = client.server_capabilities.textDocumentSync
  return type(sync) == 'table' and sync.change or tonumber(sync) or 0
end

--- Another text in its place. A server that takes no changes gets a new document.
---@param document acp.HiddenDocument
---@param text string
function M.change(document, text)
  document.version = document.version + 1
  if sync_kind(document.client) == 0 then
    send_close(document)
    return send_open(document, text)
  end
  return notify(document, 'didChange', {
    textDocument = { uri = document.uri, version = document.version },
    contentChanges = { { text = text } },
  })
end

--- What was held back is shown, unless the server has published it again meanwhile.
---@param document acp.HiddenDocument
local function release(document)
  local id = document.client.id
  if next(document.held) == nil then return end
  late[id] = vim.tbl_extend('force', late[id] or {}, document.held)
  vim.defer_fn(function()
    local held = late[id] or {}
    for uri, call in pairs(document.held) do
      if held[uri] == call then
        held[uri] = nil
        call[1](unpack(call, 2, 6))
      end
    end
    if next(held) == nil then late[id] = nil end
  end, RELEASE_MS)
end

--- Close it; once is enough.
---@param document acp.HiddenDocument
function M.close(document)
  if open[document.client.id] ~= document then return end
  open[document.client.id] = nil
  send_close(document)
  release(document)
  local bufnr = vim.fn.bufnr(vim.uri_to_fname(document.uri)) -- of a server that runs in Neovim
  if bufnr > 0 then pcall(api.nvim_buf_delete, bufnr, { force = true }) end
end

return M
