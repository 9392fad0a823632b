--- What language servers say of a text that an agent proposes, beside what they say of the text as
--- it is: both are shown to them as one hidden document, one after the other.
local M = {}

local api = vim.api
local clients = require('acp.tools.clients')
local hidden = require('acp.tools.hidden_documents')

local OPEN, PULL = 'textDocument/didOpen', 'textDocument/diagnostic'

--- How long a server may take for each text, and how long it has to be silent before it is thought
--- to have said all: some speak in several parts.
local LIMIT_MS, QUIET_MS = 8000, 350
--- How long the other servers of a file may take once one has spoken.
local OTHERS_MS = 2000
--- A server that has been waited for so often in vain speaks on no such document.
local PATIENCE = 2
--- How often it begins again after a request of somebody else's, and how long after it.
local TIMES, AGAIN_MS = 3, 500
--- Where there are more diagnostics nobody compares them.
local MOST = 500

local vain = {} ---@type table<integer, integer> by client

---@class acp.ProposedFile
---@field path string real
---@field base? string the text as it is; nil: a new file
---@field text string as it is proposed

---@param client vim.lsp.Client
local function works_on(client, path, filetype)
  local root = client.root_dir or (client.config or {}).root_dir
  if root and not vim.startswith(path, (root:gsub('/$', '')) .. '/') then return false end
  return vim.iter(pairs(client.attached_buffers)):any(function(bufnr)
    if not api.nvim_buf_is_valid(bufnr) or vim.bo[bufnr].filetype ~= filetype then return false end
    return root ~= nil or vim.fs.dirname(api.nvim_buf_get_name(bufnr)) == vim.fs.dirname(path)
  end)
end

--- A buffer that a client is attached to, that one if it is.
---@param client vim.lsp.Client
---@param bufnr integer|nil
---@return integer|nil
local function near(client, bufnr)
  if bufnr and client.attached_buffers[bufnr] then return bufnr end
  return (next(client.attached_buffers))
end

--- The servers of a file: those of its buffer, else those that work on such files around it.
---@param file acp.ProposedFile
---@return vim.lsp.Client[]
---@return integer|nil bufnr
---@return string filetype
local function serving(file)
  local bufnr = require('acp.buffers.loaded').buffer(file.path)
  local found = bufnr and vim.lsp.get_clients({ bufnr = bufnr }) or {}
  local filetype = bufnr and vim.bo[bufnr].filetype
  if not filetype or filetype == '' then
    local lines = vim.split(file.text:sub(1, 2000), '\n')
    filetype = vim.filetype.match({ filename = file.path, contents = lines }) or ''
  end
  if #found == 0 and filetype ~= '' then
    found = vim.tbl_filter(
      function(client) return works_on(client, file.path, filetype) end,
      vim.lsp.get_clients()
    )
  end
  return vim.tbl_filter(function(client)
    local at, speaks = near(client, bufnr), (vain[client.id] or 0) < PATIENCE
    return speaks and at ~= nil and require('acp.base.compat').lsp_supports(client, OPEN, at)
  end, found),
    bufnr,
    filetype
end

--- A diagnostic of the protocol as the host takes it.
local function plain(one)
  local message = type(one.message) == 'table' and one.message.value or one.message
  return {
    severity = one.severity or 1,
    message = tostring(message),
    source = type(one.source) == 'string' and one.source or nil,
    code = (type(one.code) == 'string' or type(one.code) == 'number') and tostring(one.code) or nil,
    row = vim.tbl_get(one, 'range', 'start', 'line') or 0,
  }
end

local function plain_all(list) return vim.tbl_map(plain, list) end

--- Whether more is said of the buffer than anybody compares.
local function has_many(bufnr)
  local counts = bufnr and vim.diagnostic.count(bufnr) or {}
  return vim.iter(pairs(counts)):fold(0, function(sum, _, count) return sum + count end) > MOST
end

--- What is said of the buffer now, by anybody.
local function known(bufnr)
  if not bufnr then return {} end
  return vim.tbl_map(function(one)
    local code = one.code ~= nil and tostring(one.code) or nil
    return {
      severity = one.severity,
      message = one.message,
      source = one.source,
      code = code,
      row = one.lnum,
    }
  end, require('acp.tools.uncopied').get(bufnr))
end

---@class acp.ProposalCheck
---@field client vim.lsp.Client
---@field file acp.ProposedFile
---@field near integer a buffer of the client
---@field language string
---@field document? acp.HiddenDocument
---@field cancel? fun() ends the wait
---@field over? true
---@field times integer

local run

--- Wait until the server has spoken on the present text of the document; `done(diagnostics)`, nil
--- where it has not.
---@param check acp.ProposalCheck
local function hear(check, done)
  local document = check.document --[[@as acp.HiddenDocument]]
  if require('acp.base.compat').lsp_supports(check.client, PULL, check.near) then
    local params = { textDocument = { uri = document.uri } }
    local function answered(err, result)
      done(not err and type(result) == 'table' and result.items or nil)
    end
    check.cancel = clients.ask(check.client, PULL, params, check.near, LIMIT_MS, answered)
    return
  end
  local said, quiet, limit
  local function stop()
    document.heard = function() end
    for _, timer in ipairs({ limit, quiet }) do
      if not timer:is_closing() then timer:close() end
    end
  end
  local function finish()
    stop()
    done(said)
  end
  limit = vim.defer_fn(finish, LIMIT_MS)
  document.heard = function(version, diagnostics)
    if version and version < document.version then return end
    said = diagnostics
    if quiet and not quiet:is_closing() then quiet:close() end
    quiet = vim.defer_fn(finish, QUIET_MS)
  end
  check.cancel = stop
end

--- One text after the other, the proposed one last.
---@param check acp.ProposalCheck
---@param done fun(base?: table[], proposed?: table[])
local function both(check, done)
  local file = check.file
  local function finish(base, proposed)
    hidden.close(check.document)
    done(base, proposed)
  end
  hear(check, function(first)
    if not file.base then return finish({}, first) end
    hidden.change(check.document, file.text)
    hear(check, function(second) finish(first, second) end)
  end)
end

--- Begin again after a request of somebody else's.
local function interrupted(check, done)
  if check.cancel then check.cancel() end
  check.times = check.times + 1
  if check.times >= TIMES then return done() end
  vim.defer_fn(function()
    if not check.over then run(check, done) end
  end, AGAIN_MS)
end

---@param check acp.ProposalCheck
---@param done fun(base?: table[], proposed?: table[])
function run(check, done)
  local file, client = check.file, check.client
  check.document = hidden.open(client, file.path, check.language, file.base or file.text, {
    heard = function() end,
    interrupted = function() interrupted(check, done) end,
  })
  if not check.document then return done() end
  both(check, done)
end

---@param check acp.ProposalCheck
local function stop(check)
  check.over = true
  if check.cancel then check.cancel() end
  if check.document then hidden.close(check.document) end
end

--- The checks of a file, one for each of its servers.
---@return acp.ProposalCheck[]
---@return integer|nil bufnr
local function checks(file)
  local found, bufnr, filetype = serving(file)
  local made = vim.tbl_map(function(client)
    local at, language = near(client, bufnr), client.get_language_id
    return { ---@type acp.ProposalCheck
      client = client,
      file = file,
      near = at,
      language = language and language(at, filetype) or filetype,
      times = 0,
    }
  end, found)
  return made, bufnr
end

--- Whether there is a server at all.
---@param reply acp.Reply
function M.served(reply) reply(next(vim.lsp.get_clients()) ~= nil) end

--- What the servers of a file say of both texts: a list of `{ base, proposed }`, one for each that
--- has spoken on the proposed one, and `known`, what is said of its buffer.
---@param reply acp.Reply
---@param file acp.ProposedFile
---@return fun()|nil cancel
function M.check(reply, file)
  local all, bufnr = checks(file)
  if #all == 0 or has_many(bufnr) then return reply({ opinions = {}, known = {} }) end
  local left, opinions, said = #all, {}, known(bufnr)
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
    reply({ opinions = opinions, known = said })
  end
  local function taken(check, base, proposed)
    if check.over then return end
    check.over = true
    left = left - 1
    vain[check.client.id] = not proposed and (vain[check.client.id] or 0) + 1 or nil
    if proposed and left > 0 then vim.defer_fn(finish, OTHERS_MS) end
    if proposed and #proposed <= MOST and #(base or {}) <= MOST then
      opinions[#opinions + 1] = { base = plain_all(base or {}), proposed = plain_all(proposed) }
    end
    if left == 0 then finish() end
  end
  detached = api.nvim_create_autocmd('LspDetach', {
    callback = function(args)
      for _, check in ipairs(all) do
        if check.client.id == args.data.client_id and check.near == args.buf then
          stop(check)
          check.over = nil
          taken(check)
        end
      end
    end,
  })
  for _, check in ipairs(all) do
    run(check, function(base, proposed) taken(check, base, proposed) end)
  end
  return end_all
end

return M
