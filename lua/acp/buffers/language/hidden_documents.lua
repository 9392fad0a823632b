--- Documents that are open at a language server but not in Neovim: proposed texts, with a unique
--- name in the folder of their file. Their diagnostics are never shown. A request from another part
--- of Neovim closes the document first.
local M = {}

local api = vim.api
local PUBLISH = 'textDocument/publishDiagnostics'
local NAME = 'acp_proposed_%d_%s'

--- Time for which diagnostics of other documents are held back after a hidden document was closed.
--- The server publishes them again if the hidden document caused them.
local RELEASE_MS = 700

--- Requests that do not close a hidden document, because their results refer to no other document
--- and change nothing.
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
---@field versions table<string, integer> versions of other documents when this one was opened
---@field held table<string, any[]> last held publication of each other document
---@field on_diagnostics fun(version?: integer, diagnostics: table[])
---@field interrupted fun()

local open = {} ---@type table<integer, acp.HiddenDocument> by client
local late = {} ---@type table<integer, table<string, any[]>> publications held by closed documents
local guarded = setmetatable({}, { __mode = 'k' }) ---@type table<vim.lsp.Client, true>
local numbers = 0

--- Return the number of a hidden document by its URI, or nil for any other URI.
---@param uri any
---@return integer|nil
function M.number(uri)
  local digits = type(uri) == 'string' and uri:match('/acp_proposed_(%d+)_[^/]*$')
  return digits and tonumber(digits) or nil
end

--- Return the version of a document that is open in Neovim.
local function version(uri)
  local path = vim.uri_to_fname(uri)
  local bufnr = vim.fn.bufexists(path) == 1 and vim.fn.bufnr(path) or -1
  return bufnr > 0 and vim.lsp.util.buf_versions[bufnr] or nil
end

--- Return whether a hidden document may have caused a publication about another document, which has
--- not changed since.
---@param document acp.HiddenDocument
local function may_cause(document, uri)
  if vim.startswith(uri, 'file:') then
    local versions = document.versions
    versions[uri] = versions[uri] or versions[vim.uri_from_fname(vim.uri_to_fname(uri))]
    return versions[uri] == version(uri)
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
        document.on_diagnostics(tonumber(params.version), params.diagnostics or {})
      end
    elseif document and may_cause(document, uri) then
      document.held[uri] = { forward, err, params, ctx, ... }
    else
      if document then document.held[uri] = nil end
      if late[client.id] then late[client.id][uri] = nil end
      return forward(err, params, ctx, ...)
    end
  end
end

--- Close the hidden document before any other request is sent.
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

--- Send a notification directly by RPC, because Neovim would treat the document as a buffer.
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

--- Return the versions of all documents of a client.
---@param client vim.lsp.Client
local function document_versions(client)
  local versions = {}
  for bufnr in pairs(client.attached_buffers) do
    if api.nvim_buf_is_valid(bufnr) then
      versions[vim.uri_from_bufnr(bufnr)] = vim.lsp.util.buf_versions[bufnr]
    end
  end
  return versions
end

---@class acp.HiddenDocumentHooks
---@field on_diagnostics fun(version?: integer, diagnostics: table[]) called when some are published
---@field interrupted fun() called when another request has closed the document

--- Open a text next to a file. Return nil if another text is open at this server, or if the server
--- has stopped.
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
    versions = document_versions(client),
    held = {},
    on_diagnostics = hooks.on_diagnostics,
    interrupted = hooks.interrupted,
  }
  if not send_open(document, text) then return nil end
  open[client.id] = document
  return document
end

--- Return how a server accepts changes (LSP 3.17, TextDocumentSyncKind).
local function sync_kind(client)
  local sync = client.server_capabilities.textDocumentSync
  return type(sync) == 'table' and sync.change or tonumber(sync) or 0
end

--- Replace the text. A server that accepts no changes gets a new document.
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

--- Publish held diagnostics later, except those that the server has published again by then.
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

--- Close a document, if it is open.
---@param document acp.HiddenDocument
function M.close(document)
  if open[document.client.id] ~= document then return end
  open[document.client.id] = nil
  send_close(document)
  release(document)
  local bufnr = vim.fn.bufnr(vim.uri_to_fname(document.uri)) -- made by a server inside Neovim
  if bufnr > 0 then pcall(api.nvim_buf_delete, bufnr, { force = true }) end
end

return M
