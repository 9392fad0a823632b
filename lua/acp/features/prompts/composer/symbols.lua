--- Symbols of the user's code, for `@symbol`: from the language servers of the buffer that the user
--- works in, or from its syntax tree.
local M = {}

local api = vim.api
local compat, slices = require('acp.base.compat'), require('acp.base.slices')

local LIMIT_MS = 2000 -- for an answer from a language server
local MAX_SYMBOLS = 2000 -- symbols of a file
--- Maximum number of lines of a file whose syntax tree is searched.
local MAX_LINES = compat.can_parse_in_slices and 20000 or 2000

---@class acp.Symbol
---@field name string
---@field kind integer LSP SymbolKind
---@field path string absolute
---@field first integer 1-based line
---@field last integer 1-based line, inclusive

---@class acp.FileSymbols
---@field bufnr integer
---@field tick integer
---@field list acp.Symbol[]

local outline ---@type acp.FileSymbols|nil symbols of the buffer that was looked at last
local by_query = {} ---@type table<string, acp.Symbol[]> results of workspace/symbol by query

local KINDS = vim.lsp.protocol.SymbolKind

--- Kinds of nodes in syntax trees, by a part of their type.
local NODES = {
  { 'function', KINDS.Function },
  { 'method', KINDS.Method },
  { 'class', KINDS.Class },
  { 'interface', KINDS.Interface },
  { 'struct', KINDS.Struct },
  { 'enum', KINDS.Enum },
  { 'module', KINDS.Module },
}

---@param symbols table[] LSP DocumentSymbol or SymbolInformation
---@param path string
---@param into acp.Symbol[]
local function add_all(symbols, path, into)
  for _, symbol in ipairs(symbols) do
    local range = symbol.range or vim.tbl_get(symbol, 'location', 'range')
    local uri = vim.tbl_get(symbol, 'location', 'uri')
    if range and #into < MAX_SYMBOLS and (not uri or vim.startswith(uri, 'file:')) then
      local last = range['end'].character > 0 and range['end'].line + 1 or range['end'].line
      into[#into + 1] = {
        name = symbol.name,
        kind = symbol.kind,
        path = uri and vim.uri_to_fname(uri) or path,
        first = range.start.line + 1,
        last = math.max(last, range.start.line + 1),
      }
    end
    add_all(symbol.children or {}, path, into)
  end
  return into
end

---@param node TSNode
---@return integer|nil kind
local function kind_of(node)
  if not node:named() then return nil end
  for _, known_node in ipairs(NODES) do
    if node:type():find(known_node[1], 1, true) then return known_node[2] end
  end
end

--- Add the named functions, classes and the like below a node, without those inside functions.
---@param node TSNode
---@param into acp.Symbol[]
local function walk(node, bufnr, path, into)
  for child in node:iter_children() do
    slices.check()
    local kind = kind_of(child)
    local name = kind and child:field('name')[1]
    if name and #into < MAX_SYMBOLS then
      local first, _, last = child:range()
      local text = vim.treesitter.get_node_text(name, bufnr)
      into[#into + 1] =
        { name = text, kind = kind, path = path, first = first + 1, last = last + 1 }
    end
    if kind ~= KINDS.Function and kind ~= KINDS.Method then walk(child, bufnr, path, into) end
  end
  return into
end

---@param done fun(list: acp.Symbol[])
local function from_tree(bufnr, path, done)
  local ok, parser = pcall(vim.treesitter.get_parser, bufnr)
  if not ok or not parser or api.nvim_buf_line_count(bufnr) > MAX_LINES then return done({}) end
  local function on_parsed(trees)
    if not trees or not trees[1] then return done({}) end
    local root = trees[1]:root()
    slices.run(
      function() return walk(root, bufnr, path, {}) end,
      function(list) done(list or {}) end
    )
  end
  if not compat.can_parse_in_slices then return on_parsed(parser:parse()) end
  parser:parse(nil, function(_, trees) on_parsed(trees) end)
end

--- Ask the first server of a buffer that supports a method.
---@param done fun(result: table)
---@return boolean asked
local function ask(bufnr, method, params, done)
  local clients = require('acp.buffers.language.clients')
  local client = clients.supporting(bufnr, method)[1]
  if not client then return false end
  clients.ask(
    client,
    method,
    params,
    bufnr,
    LIMIT_MS,
    function(err, result) done(not err and type(result) == 'table' and result or {}) end
  )
  return true
end

---@param done fun()
local function load_outline(bufnr, path, done)
  local tick = api.nvim_buf_get_changedtick(bufnr)
  if outline and outline.bufnr == bufnr and outline.tick == tick then return done() end
  local function store(list)
    outline = { bufnr = bufnr, tick = tick, list = list }
    done()
  end
  local params = { textDocument = { uri = vim.uri_from_bufnr(bufnr) } }
  local function on_answer(result) store(add_all(result, path, {})) end
  if not ask(bufnr, 'textDocument/documentSymbol', params, on_answer) then
    from_tree(bufnr, path, store)
  end
end

--- Find the symbols of the buffer that the user works in, and those of the workspace that match a
--- query.
---@param query string
---@param done fun() called once both are known; at once if they are known already
function M.look(query, done)
  local win = require('acp.ui.win').work()
  local bufnr = api.nvim_win_get_buf(win)
  local path = require('acp.base.places').path(bufnr)
  if path == '' then return done() end
  local left = 2
  local function one_done()
    left = left - 1
    if left == 0 then done() end
  end
  load_outline(bufnr, path, one_done)
  local function on_answer(result)
    by_query = { [query] = add_all(result, path, {}) }
    one_done()
  end
  local is_new = query ~= '' and not by_query[query]
  if not is_new or not ask(bufnr, 'workspace/symbol', { query = query }, on_answer) then
    one_done()
  end
end

--- Return the known symbols that match, those of the user's buffer first.
---@param lead string
---@return acp.Symbol[]
function M.known(lead)
  local list, seen = {}, {}
  for _, symbols in ipairs({ outline and outline.list or {}, by_query[lead] or {} }) do
    for _, symbol in ipairs(symbols) do
      local key = ('%s\0%s\0%d'):format(symbol.name, symbol.path, symbol.first)
      if not seen[key] then list[#list + 1] = symbol end
      seen[key] = true
    end
  end
  return vim.fn.matchfuzzy(list, lead, { key = 'name' })
end

return M
