--- Requests to the language servers of a file, for `acp.base.host.async_calls`. No function blocks.
local M = {}

local api = vim.api
local clients = require('acp.buffers.language.clients')

local LIMIT_MS, STARTING_MS = 5000, 4000

--- Methods whose result covers the whole project. A server that is still indexing would return only
--- a part, so it gets `INDEXING_MS` to finish.
local PROJECT_WIDE = {
  ['textDocument/references'] = true,
  ['textDocument/implementation'] = true,
  ['textDocument/rename'] = true,
  ['callHierarchy/incomingCalls'] = true,
  ['workspace/symbol'] = true,
}
local INDEXING_MS = 2500

---@class acp.LspQuestion
---@field path? string resolved path; nil asks all servers that work in `roots`
---@field roots? string[] resolved directories
---@field session? integer session that the file may be loaded for
---@field method string
---@field params table
---@field at? integer[][] a position, or start and end: 0-based row, and column in characters
---@field wait_ms integer longest wait for a server to attach
---@field client? integer the only client to ask; by default all that support the method

--- Convert a column of a line to the server's encoding.
---@param line string
---@param column integer in characters (code points)
---@param encoding string of the server
---@return integer
function M.character(line, column, encoding)
  local byte = vim.fn.byteidxcomp(line, column)
  local before = byte < 0 and line or line:sub(1, byte)
  if encoding == 'utf-8' then return #before end
  if encoding == 'utf-32' then return vim.fn.strchars(before) end
  return vim.fn.strutf16len(before)
end

local function position(bufnr, at, encoding)
  local row, column = at[1], at[2]
  local line = api.nvim_buf_get_lines(bufnr, row, row + 1, false)[1] or ''
  return { line = row, character = M.character(line, column, encoding) }
end

--- Return the parameters for one server, with positions in its encoding.
---@param client vim.lsp.Client
---@param question acp.LspQuestion
local function params_for(client, bufnr, question)
  local params = vim.deepcopy(question.params)
  local at, encoding = question.at, client.offset_encoding
  if question.path then params.textDocument = { uri = vim.uri_from_bufnr(bufnr) } end
  if at and at[2] then
    params.range =
      { start = position(bufnr, at[1], encoding), ['end'] = position(bufnr, at[2], encoding) }
  elseif at then
    params.position = position(bufnr, at[1], encoding)
  end
  return params
end

---@param client vim.lsp.Client
local function answer(client, tick, result)
  return {
    client = client.id,
    name = client.name,
    encoding = client.offset_encoding,
    result = result,
    version = tick,
  }
end

--- Ask all of these servers and call `done(answers, why)`. Failures are reported only if all fail.
---@param by_buffer table<integer, vim.lsp.Client[]>
---@param question acp.LspQuestion
---@return fun() cancel
local function ask(by_buffer, question, done)
  local answers, failures, left, cancels = {}, {}, 0, {}
  local function on_answer(client, tick, err, result)
    left = left - 1
    failures[#failures + 1] = err
    if not err then answers[#answers + 1] = answer(client, tick, result) end
    if left > 0 then return end
    if #answers > 0 then return done(answers) end
    done(nil, table.concat(failures, '; '))
  end
  local asked = {}
  for bufnr, group in pairs(by_buffer) do
    for _, client in ipairs(group) do
      asked[#asked + 1] = { client, bufnr }
    end
  end
  left = #asked
  for _, pair in ipairs(asked) do
    local client, bufnr = pair[1], pair[2]
    local tick = api.nvim_buf_get_changedtick(bufnr)
    local function over(err, result) on_answer(client, tick, err, result) end
    local params = params_for(client, bufnr, question)
    cancels[#cancels + 1] = clients.ask(client, question.method, params, bufnr, LIMIT_MS, over)
  end
  return function()
    for _, cancel in ipairs(cancels) do
      cancel()
    end
  end
end

--- Return the servers that support a method and work in these directories. Each server is listed
--- once, under one of its buffers.
---@return table<integer, vim.lsp.Client[]>
local function servers_for(roots, method)
  local servers, seen = {}, {}
  for _, bufnr in ipairs(api.nvim_list_bufs()) do
    local path = api.nvim_buf_is_loaded(bufnr) and vim.uv.fs_realpath(api.nvim_buf_get_name(bufnr))
    local inside = path and require('acp.base.paths').is_below(path, roots)
    for _, client in ipairs(inside and clients.supporting(bufnr, method) or {}) do
      if not seen[client.id] then
        seen[client.id] = true
        servers[bufnr] = vim.list_extend(servers[bufnr] or {}, { client })
      end
    end
  end
  return servers
end

---@param question acp.LspQuestion
local function ask_all(reply, question)
  local servers = servers_for(question.roots, question.method)
  if next(servers) == nil then
    return reply(
      nil,
      'no language server that supports ' .. question.method .. ' is running here: give a path'
    )
  end
  return ask(servers, question, reply)
end

--- Ask the servers of a file. Reply with a list of `Answer` of acp_nvim.tools.ports.
---@param reply acp.Reply
---@param question acp.LspQuestion
---@return fun()|nil cancel
function M.ask(reply, question)
  if not question.path then return ask_all(reply, question) end
  local bufnr, why = require('acp.buffers.language.hidden').buffer(question.path, question.session)
  if not bufnr then return reply(nil, why) end
  local cancel, cancelled
  local wait = {
    method = question.method,
    only = question.client,
    wait_ms = question.wait_ms,
    starting_ms = STARTING_MS,
  }
  local stop = clients.wait(bufnr, wait, function(found, none)
    if cancelled then return end
    if not found then return reply(nil, none) end
    local function go() cancel = ask({ [bufnr] = found }, question, reply) end
    if not PROJECT_WIDE[question.method] then return go() end
    local forget = clients.wait_idle(found, INDEXING_MS, go)
    cancel = cancel or forget
  end)
  return function()
    cancelled = true
    stop()
    if cancel then cancel() end
  end
end

--- Send a request with the given parameters to one server and reply with its result.
---@param reply acp.Reply
---@param question { client: integer, path: string, session?: integer, method: string, params: any }
---@return fun()|nil cancel
function M.resolve(reply, question)
  local client = vim.lsp.get_client_by_id(question.client)
  local bufnr, why = require('acp.buffers.language.hidden').buffer(question.path, question.session)
  if not client then return reply(nil, 'the language server has stopped') end
  if not bufnr then return reply(nil, why) end
  return clients.ask(
    client,
    question.method,
    question.params,
    bufnr,
    LIMIT_MS,
    function(err, result) reply(result, err) end
  )
end

return M
