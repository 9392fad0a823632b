--- Diagnostics of language servers for a text that an agent proposes, compared with those for the
--- current text. Both texts are sent one after the other as the same hidden document.
local M = {}

local api = vim.api
local clients = require('acp.buffers.language.clients')
local hidden = require('acp.buffers.language.hidden_documents')

local OPEN, PULL = 'textDocument/didOpen', 'textDocument/diagnostic'

--- Longest wait for the diagnostics of a text, and the pause after which they are complete. Some
--- servers publish them in several parts.
local LIMIT_MS, QUIET_MS = 8000, 350
--- Longest wait for the other servers of a file after one has answered.
local OTHERS_MS = 2000
--- Number of timeouts after which a server is no longer asked.
local MAX_TIMEOUTS = 2
--- Number of attempts if other requests interrupt a check, and the delay before the next one.
local ATTEMPTS, RETRY_MS = 3, 500
--- Maximum number of diagnostics to compare.
local MAX_DIAGNOSTICS = 500

local timeouts = {} ---@type table<integer, integer> by client

---@class acp.ProposedFile
---@field path string real path
---@field base? string current text, nil for a new file
---@field text string proposed text

---@param client vim.lsp.Client
local function serves_file(client, path, filetype)
  local root = client.root_dir or (client.config or {}).root_dir
  if root and not vim.startswith(path, (root:gsub('/$', '')) .. '/') then return false end
  return vim.iter(pairs(client.attached_buffers)):any(function(bufnr)
    if not api.nvim_buf_is_valid(bufnr) or vim.bo[bufnr].filetype ~= filetype then return false end
    return root ~= nil or vim.fs.dirname(api.nvim_buf_get_name(bufnr)) == vim.fs.dirname(path)
  end)
end

--- Return a buffer that a client is attached to, preferably `bufnr`.
---@param client vim.lsp.Client
---@param bufnr integer|nil
---@return integer|nil
local function attached_buffer(client, bufnr)
  if bufnr and client.attached_buffers[bufnr] then return bufnr end
  return (next(client.attached_buffers))
end

--- Return the servers of a file: those of its buffer, or else those attached to files of its type
--- nearby.
---@param file acp.ProposedFile
---@return vim.lsp.Client[]
---@return integer|nil bufnr
---@return string filetype
local function servers_of(file)
  local bufnr = require('acp.buffers.loaded').buffer(file.path)
  local servers = bufnr and vim.lsp.get_clients({ bufnr = bufnr }) or {}
  local filetype = bufnr and vim.bo[bufnr].filetype
  if not filetype or filetype == '' then
    local lines = vim.split(file.text:sub(1, 2000), '\n')
    filetype = vim.filetype.match({ filename = file.path, contents = lines }) or ''
  end
  if #servers == 0 and filetype ~= '' then
    servers = vim.tbl_filter(
      function(client) return serves_file(client, file.path, filetype) end,
      vim.lsp.get_clients()
    )
  end
  return vim.tbl_filter(function(client)
    local at, answers = attached_buffer(client, bufnr), (timeouts[client.id] or 0) < MAX_TIMEOUTS
    return answers and at ~= nil and require('acp.base.compat').lsp_supports(client, OPEN, at)
  end, servers),
    bufnr,
    filetype
end

--- Convert an LSP diagnostic to the host's format.
local function to_host_format(item)
  local message = type(item.message) == 'table' and item.message.value or item.message
  return {
    severity = item.severity or 1,
    message = tostring(message),
    source = type(item.source) == 'string' and item.source or nil,
    code = (type(item.code) == 'string' or type(item.code) == 'number') and tostring(item.code)
      or nil,
    row = vim.tbl_get(item, 'range', 'start', 'line') or 0,
  }
end

--- Return whether the buffer has too many diagnostics to compare.
local function has_many(bufnr)
  local counts = bufnr and vim.diagnostic.count(bufnr) or {}
  local total = vim.iter(pairs(counts)):fold(0, function(sum, _, count) return sum + count end)
  return total > MAX_DIAGNOSTICS
end

--- Return the current diagnostics of the buffer from all sources, in the host's format.
local function present_diagnostics(bufnr)
  if not bufnr then return {} end
  return vim.tbl_map(function(item)
    local code = item.code ~= nil and tostring(item.code) or nil
    return {
      severity = item.severity,
      message = item.message,
      source = item.source,
      code = code,
      row = item.lnum,
    }
  end, require('acp.buffers.language.raw_diagnostics').get(bufnr))
end

---@class acp.ProposalCheck
---@field client vim.lsp.Client
---@field file acp.ProposedFile
---@field near integer a buffer of the client
---@field language string
---@field document? acp.HiddenDocument
---@field cancel? fun() stops the wait for diagnostics
---@field over? true
---@field attempts integer

local run

--- Request the diagnostics of the document's current text.
---@param check acp.ProposalCheck
---@param done fun(diagnostics?: table[])
local function request_diagnostics(check, done)
  local params = { textDocument = { uri = check.document.uri } }
  local function answered(err, result)
    done(not err and type(result) == 'table' and result.items or nil)
  end
  check.cancel = clients.ask(check.client, PULL, params, check.near, LIMIT_MS, answered)
end

--- Wait until the server has published the diagnostics of the document's current text and publishes
--- nothing else for `QUIET_MS`.
---@param check acp.ProposalCheck
---@param done fun(diagnostics?: table[])
local function await_publication(check, done)
  local document = check.document --[[@as acp.HiddenDocument]]
  local latest, quiet, limit
  local function stop()
    document.on_diagnostics = function() end
    for _, timer in ipairs({ limit, quiet }) do
      if not timer:is_closing() then timer:close() end
    end
  end
  local function finish()
    stop()
    done(latest)
  end
  limit = vim.defer_fn(finish, LIMIT_MS)
  document.on_diagnostics = function(version, diagnostics)
    if version and version < document.version then return end
    latest = diagnostics
    if quiet and not quiet:is_closing() then quiet:close() end
    quiet = vim.defer_fn(finish, QUIET_MS)
  end
  check.cancel = stop
end

--- Get the diagnostics of the document's current text: nil if there was no answer.
---@param check acp.ProposalCheck
---@param done fun(diagnostics?: table[])
local function get_diagnostics(check, done)
  local can_pull = require('acp.base.compat').lsp_supports(check.client, PULL, check.near)
  local get = can_pull and request_diagnostics or await_publication
  get(check, done)
end

--- Get the diagnostics of both texts, the proposed one last.
---@param check acp.ProposalCheck
---@param done fun(base?: table[], proposed?: table[])
local function compare_texts(check, done)
  local file = check.file
  local function finish(base, proposed)
    hidden.close(check.document)
    done(base, proposed)
  end
  get_diagnostics(check, function(first)
    if not file.base then return finish({}, first) end
    hidden.change(check.document, file.text)
    get_diagnostics(check, function(second) finish(first, second) end)
  end)
end

--- Start again after a request from another part of Neovim has interrupted the check.
local function on_interrupted(check, done)
  if check.cancel then check.cancel() end
  check.attempts = check.attempts + 1
  if check.attempts >= ATTEMPTS then return done() end
  vim.defer_fn(function()
    if not check.over then run(check, done) end
  end, RETRY_MS)
end

---@param check acp.ProposalCheck
---@param done fun(base?: table[], proposed?: table[])
function run(check, done)
  local file, client = check.file, check.client
  check.document = hidden.open(client, file.path, check.language, file.base or file.text, {
    on_diagnostics = function() end,
    interrupted = function() on_interrupted(check, done) end,
  })
  if not check.document then return done() end
  compare_texts(check, done)
end

---@param check acp.ProposalCheck
local function stop(check)
  check.over = true
  if check.cancel then check.cancel() end
  if check.document then hidden.close(check.document) end
end

--- Create the checks of a file, one for each of its servers.
---@return acp.ProposalCheck[]
---@return integer|nil bufnr
local function checks(file)
  local servers, bufnr, filetype = servers_of(file)
  local created = vim.tbl_map(function(client)
    local at, language = attached_buffer(client, bufnr), client.get_language_id
    return { ---@type acp.ProposalCheck
      client = client,
      file = file,
      near = at,
      language = language and language(at, filetype) or filetype,
      attempts = 0,
    }
  end, servers)
  return created, bufnr
end

--- Reply whether any server is running.
---@param reply acp.Reply
function M.has_clients(reply)
  -- The server `acp` completes prompts only.
  reply(vim.iter(vim.lsp.get_clients()):any(function(client) return client.name ~= 'acp' end))
end

--- Add the diagnostics of a server, unless there are too many.
---@param opinions table[]
---@param base table[]
---@param proposed table[]
local function add_opinion(opinions, base, proposed)
  if math.max(#proposed, #base) > MAX_DIAGNOSTICS then return end
  opinions[#opinions + 1] = {
    base = vim.tbl_map(to_host_format, base),
    proposed = vim.tbl_map(to_host_format, proposed),
  }
end

--- Stop the check of a server that is detached from its buffer.
---@param all acp.ProposalCheck[]
---@param on_detached fun(check: acp.ProposalCheck)
---@return integer autocommand
local function watch_detach(all, on_detached)
  return api.nvim_create_autocmd('LspDetach', {
    callback = function(args)
      for _, check in ipairs(all) do
        if check.client.id == args.data.client_id and check.near == args.buf then
          stop(check)
          check.over = nil
          on_detached(check)
        end
      end
    end,
  })
end

--- Reply with the diagnostics for both texts: `opinions`, a list of `{ base, proposed }` with one
--- item for each server that has answered for the proposed text, and `known`, the current
--- diagnostics of the buffer.
---@param reply acp.Reply
---@param file acp.ProposedFile
---@return fun()|nil cancel
function M.check(reply, file)
  local all, bufnr = checks(file)
  if #all == 0 or has_many(bufnr) then return reply({ opinions = {}, known = {} }) end
  local left, opinions, known = #all, {}, present_diagnostics(bufnr)
  local detached
  local function end_all()
    if not detached then return end
    api.nvim_del_autocmd(detached)
    detached = nil
    for _, check in ipairs(all) do
      stop(check)
    end
  end
  local function finish()
    if not detached then return end
    end_all()
    reply({ opinions = opinions, known = known })
  end
  local function on_result(check, base, proposed)
    if check.over then return end
    check.over = true
    left = left - 1
    timeouts[check.client.id] = not proposed and (timeouts[check.client.id] or 0) + 1 or nil
    if proposed and left > 0 then vim.defer_fn(finish, OTHERS_MS) end
    if proposed then add_opinion(opinions, base or {}, proposed) end
    if left == 0 then finish() end
  end
  detached = watch_detach(all, on_result)
  for _, check in ipairs(all) do
    run(check, function(base, proposed) on_result(check, base, proposed) end)
  end
  return end_all
end

return M
