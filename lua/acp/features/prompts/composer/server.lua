--- Language server `acp` in this process: completions of composers for completion plugins and
--- |vim.lsp.completion|. It reads the buffers itself, so it needs no copies of the documents.
local M = {}

local candidates = require('acp.features.prompts.composer.candidates')
local previews = require('acp.features.prompts.composer.previews')

local NAME = 'acp'
local INSERT = 'acp.insert_prompt' -- command that inserts the text of a prompt
local SYMBOLS_MS = 150 -- longest wait for symbols
local KNOWN_MS = 3000 -- longest wait for commands and files
local UNKNOWN_METHOD, FAILED = -32601, -32603

--- Score in blink.cmp above the items of its other sources, such as the folders of `/`.
local SCORE_OFFSET = 100

local CAPABILITIES = {
  positionEncoding = 'utf-8',
  completionProvider = { triggerCharacters = { '/', '@', '{', '#' }, resolveProvider = true },
  executeCommandProvider = { commands = { INSERT } },
}

local KINDS = {
  command = 'Keyword',
  file = 'File',
  folder = 'Folder',
  variable = 'Variable',
  prompt = 'Reference',
}

--- Kinds after which some plugins insert brackets.
local CALLED = { Function = true, Method = true, Constructor = true }

---@param candidate acp.Candidate
local function kind_of(candidate)
  local kinds = vim.lsp.protocol.CompletionItemKind
  local name = KINDS[candidate.kind] or vim.lsp.protocol.SymbolKind[candidate.symbol.kind]
  return not CALLED[name] and kinds[name] or kinds.Reference
end

--- Return the text that an engine compares with the typed word. It begins with that word in any
--- case, because only matches are listed.
---@param base string
---@param candidate acp.Candidate
local function filter_text(base, candidate)
  local text = candidate.kind == 'symbol' and candidate.label or candidate.word
  return vim.startswith(text, base) and text or ('%s %s'):format(base, text)
end

---@class acp.CompletionPlace
---@field composer integer
---@field base string
---@field range lsp.Range
---@field has_brace boolean whether a `}` follows, as an auto-pairs plugin inserts it
---@field cwd string

---@param place acp.CompletionPlace
---@param index integer
---@param candidate acp.Candidate
---@return lsp.CompletionItem
local function item(place, index, candidate)
  local prompt, range = candidate.kind == 'prompt', place.range
  if candidate.kind == 'variable' and place.has_brace then
    range = vim.deepcopy(range)
    range['end'].character = range['end'].character + 1
  end
  return {
    label = candidate.label,
    labelDetails = { description = candidate.about },
    detail = candidate.about,
    kind = kind_of(candidate),
    filterText = filter_text(place.base, candidate),
    sortText = ('%05d'):format(index),
    score_offset = SCORE_OFFSET,
    insertTextFormat = vim.lsp.protocol.InsertTextFormat.PlainText,
    textEdit = { range = range, newText = candidate.word },
    command = prompt
        and { title = 'Insert the prompt', command = INSERT, arguments = { candidate.word } }
      or nil,
    data = previews.data(candidate, place.composer, place.cwd),
  }
end

--- Return the byte index of a position in a line.
---@param line string
---@param character integer
---@param encoding string of the position
local function byte_index(line, character, encoding)
  if encoding == 'utf-8' then return math.min(character, #line) end
  local index = vim.fn.byteidxcomp(line, character, encoding == 'utf-16')
  return index < 0 and #line or index
end

---@param params lsp.CompletionParams
---@param encoding string
---@return acp.CompletionPlace|nil
local function place_of(params, encoding)
  local bufnr, row = vim.uri_to_bufnr(params.textDocument.uri), params.position.line
  local composer = candidates.composer(bufnr)
  if not composer or not vim.api.nvim_buf_is_loaded(bufnr) then return nil end
  local line = vim.api.nvim_buf_get_lines(bufnr, row, row + 1, false)[1] or ''
  local before = line:sub(1, byte_index(line, params.position.character, encoding))
  local kind, col = candidates.word(before, row + 1)
  if not kind then return nil end
  local start = vim.fn.strchars(before:sub(1, col))
  local character = require('acp.buffers.language.lsp').character(line, start, encoding)
  return {
    composer = composer,
    base = before:sub(col + 1),
    range = { start = { line = row, character = character }, ['end'] = params.position },
    has_brace = line:sub(#before + 1, #before + 1) == '}',
    cwd = require('acp.base.places').cwd(),
  }
end

--- Call `fn` once: when `wait` calls back, or after `limit_ms`.
---@param limit_ms integer
---@param wait fun(fn: fun())
---@param fn fun()
local function within(limit_ms, wait, fn)
  local is_over = false
  local go = require('acp.base.once')(function()
    is_over = true
    fn()
  end)
  wait(go)
  if not is_over then vim.defer_fn(go, limit_ms) end
end

---@alias acp.Respond fun(err?: lsp.ResponseError, result?: any)

---@param place acp.CompletionPlace
---@param respond acp.Respond
---@return fun() cancel
local function list(place, respond)
  local slices = require('acp.base.slices')
  local function job()
    local listed = candidates.list(place.base, place.composer, slices.check)
    local items = {}
    for i, candidate in ipairs(listed) do
      items[i] = item(place, i, candidate)
      slices.check()
    end
    return items
  end
  return slices.run(job, function(items, err)
    if err then return respond({ code = FAILED, message = err }) end
    -- Incomplete, because the next character may match other files.
    respond(nil, { isIncomplete = true, items = items })
  end)
end

--- Functions that insert the text of a prompt by its name, by composer.
---@type table<integer, fun(name: string)>
local inserts = {}

--- Requests by method. Each returns a function that cancels it.
---@type table<string, fun(params: table, respond: acp.Respond, encoding: string): fun()|nil>
local methods = {}

methods['textDocument/completion'] = function(params, respond, encoding)
  local place = place_of(params, encoding)
  if not place then return respond(nil, { isIncomplete = false, items = {} }) end
  local cancelled, stop_waiting, stop_listing = false, nil, nil
  local function wait_for_symbols(fn)
    if cancelled then return end
    if place.base:sub(1, 1) ~= '@' then return fn() end
    candidates.look_for_symbols(place.base, fn)
  end
  local function on_symbols()
    if not cancelled then stop_listing = list(place, respond) end
  end
  within(
    KNOWN_MS,
    function(fn) stop_waiting = candidates.when_known(place.base, place.composer, fn) end,
    function() within(SYMBOLS_MS, wait_for_symbols, on_symbols) end
  )
  return function()
    cancelled = true
    if stop_waiting then stop_waiting() end
    if stop_listing then stop_listing() end
  end
end

methods['completionItem/resolve'] = function(params, respond)
  local data = params.data or {}
  previews.show(data, function(preview)
    -- Engines show the detail above the preview, which says the same except for symbols.
    local detail = (not preview or data.kind == 'symbol') and params.detail or ''
    local resolved = { documentation = preview, detail = detail }
    respond(nil, vim.tbl_extend('force', params, resolved))
  end)
end

methods['workspace/executeCommand'] = function(params, respond)
  if params.command == INSERT then
    local insert = inserts[vim.api.nvim_get_current_buf()]
    if insert then insert(params.arguments[1]) end
  end
  respond()
end

local client_id ---@type integer|nil the running client

--- Return the encoding of positions that the client uses; a user's LspAttach may change it.
local function encoding_of_client()
  local client = client_id and vim.lsp.get_client_by_id(client_id)
  return client and client.offset_encoding or CAPABILITIES.positionEncoding
end

--- Run a request. Nothing is called back before this function has returned.
---@param cancels table<integer, fun()> of the requests without an answer, by id
---@param id integer
local function start_request(cancels, id, method, params, callback, notify_reply)
  local cancel
  local function answer(fn)
    if not cancels[id] then return end
    cancels[id] = nil
    vim.schedule(function()
      if notify_reply then notify_reply(id) end
      fn()
    end)
  end
  local function respond(err, result)
    answer(function() callback(err, result) end)
  end
  cancels[id] = function()
    if cancel then cancel() end
    answer(function() end) -- as for a server in a process, a cancelled request has no result
  end
  if methods[method] then
    cancel = methods[method](params, respond, encoding_of_client())
  else
    respond({ code = UNKNOWN_METHOD, message = 'acp does not know ' .. method })
  end
end

--- Start the server for a client, in place of a process.
---@param dispatchers vim.lsp.rpc.Dispatchers
---@return vim.lsp.rpc.PublicClient
local function connect(dispatchers)
  local last_id, is_closing = 0, false
  local cancels = {} ---@type table<integer, fun()> of the requests without an answer

  local function close()
    if is_closing then return end
    is_closing = true
    dispatchers.on_exit(0, 0)
  end

  local function request(method, params, callback, notify_reply)
    if is_closing then return false end
    last_id = last_id + 1
    if method == 'initialize' then
      -- At once: some plugins look at the clients only when Insert mode begins.
      callback(nil, { capabilities = CAPABILITIES })
    elseif method == 'shutdown' then
      callback()
    else
      start_request(cancels, last_id, method, params, callback, notify_reply)
    end
    return true, last_id
  end

  local function notify(method, params)
    if is_closing then return false end
    local cancel = method == '$/cancelRequest' and cancels[params.id]
    if cancel then cancel() end
    if method == 'exit' then close() end
    return true
  end

  return {
    request = request,
    notify = notify,
    is_closing = function() return is_closing end,
    terminate = close,
  }
end

---@param client vim.lsp.Client
local function is_running(client) return client.id == client_id and not client.rpc.is_closing() end

---@param bufnr integer
local function start(bufnr)
  local capabilities = vim.lsp.protocol.make_client_capabilities()
  capabilities.general.positionEncodings = { 'utf-8', 'utf-16', 'utf-32' } -- 0.10 offers UTF-16
  return vim.lsp.start({
    name = NAME,
    cmd = connect,
    root_dir = require('acp.base.places').cwd(),
    capabilities = capabilities,
  }, { bufnr = bufnr, reuse_client = is_running })
end

--- Fire |LspAttach|, if the server is still attached.
---@param bufnr integer
local function announce(bufnr)
  local client = client_id and vim.lsp.get_client_by_id(client_id)
  if not client or not client.attached_buffers[bufnr] then return end
  local data = { client_id = client.id }
  vim.api.nvim_exec_autocmds('LspAttach', { buffer = bufnr, modeline = false, data = data })
end

--- Attach the server to a composer, and start it if it is not running. |LspAttach| is fired later,
--- so that an error in it does not end the command that opens the composer.
---@param bufnr integer
---@param insert fun(name: string) puts the text of a prompt in place of its name
function M.attach(bufnr, insert)
  inserts[bufnr] = insert
  local client = client_id and vim.lsp.get_client_by_id(client_id)
  if client and is_running(client) and client.attached_buffers[bufnr] then return end
  client_id = require('acp.base.options').without_events('LspAttach', start, bufnr)
  vim.schedule(function() announce(bufnr) end)
end

return M
