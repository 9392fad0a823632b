--- Diagnostics of all sources, for `acp.base.host.async_calls`. They are read after the language
--- servers have published diagnostics for the last change, and can be compared with those at the
--- start of the turn.
local M = {}

local api = vim.api
local is_below, slices = require('acp.base.paths').is_below, require('acp.base.slices')
local publications = require('acp.buffers.language.publications')
local raw_diagnostics = require('acp.buffers.language.raw_diagnostics')

local SEVERITIES = { 'error', 'warning', 'info', 'hint' }

---@class acp.DiagnosticsQuestion
---@field path? string resolved path; all files in `roots` by default
---@field roots string[] resolved directories
---@field session integer
---@field load boolean whether the file may be loaded
---@field severity integer lowest severity to return, from 1 (error) to 4 (hint)
---@field turn boolean return the changes since the start of the turn
---@field wait_ms integer
---@field limit integer

---@class acp.TurnStart
---@field counts table<string, table<string, integer>> number of diagnostics by path and key
---@field open table<string, true> files that were open
---@field done boolean
---@field finish? fun() called when it is done

local starts = {} ---@type table<integer, acp.TurnStart> by session

local function path_of(bufnr)
  local name = api.nvim_buf_get_name(bufnr)
  return name ~= '' and vim.bo[bufnr].buftype == '' and (vim.uv.fs_realpath(name) or name) or nil
end

--- Return the files that have diagnostics, sorted by path: path, buffer, and count of each
--- severity.
---@param question acp.DiagnosticsQuestion
---@return { [1]: string, [2]: integer, [3]: table<integer, integer> }[]
local function files(question)
  local listed = {}
  for _, bufnr in ipairs(api.nvim_list_bufs()) do
    local counts = api.nvim_buf_is_valid(bufnr) and vim.diagnostic.count(bufnr) or {}
    if next(counts) ~= nil then
      local path = path_of(bufnr)
      local wanted = path and (question.path == path or not question.path)
      if wanted and (question.path or is_below(path, question.roots)) then
        listed[#listed + 1] = { path, bufnr, counts }
      end
      slices.check()
    end
  end
  table.sort(listed, function(a, b) return a[1] < b[1] end)
  return listed
end

--- Return a key that equal diagnostics share. It does not contain the position, which edits change.
local function key(item)
  return table.concat({ item.severity, item.source or '', item.message }, '\0')
end

--- Convert a byte column to a 1-based column in characters.
local function column(bufnr, row, col)
  if not api.nvim_buf_is_loaded(bufnr) then return col + 1 end
  local line = api.nvim_buf_get_lines(bufnr, row, row + 1, false)[1] or ''
  return vim.fn.strchars(line:sub(1, col)) + 1
end

--- Convert a diagnostic to the host's format.
local function to_host_format(path, bufnr, item)
  return {
    path = path,
    line = item.lnum + 1,
    column = column(bufnr, item.lnum, item.col),
    end_line = (item.end_lnum or item.lnum) + 1,
    severity = SEVERITIES[item.severity],
    source = item.source,
    code = item.code and tostring(item.code) or nil,
    message = item.message,
  }
end

--- Return the first diagnostics, ordered by severity and then by file, and the count of each
--- severity.
---@param question acp.DiagnosticsQuestion
local function first_diagnostics(question)
  local items, counts, found = {}, {}, files(question)
  for severity = 1, question.severity do
    for _, file in ipairs(found) do
      local path, bufnr = file[1], file[2]
      local count = file[3][severity] or 0
      local name = SEVERITIES[severity]
      counts[name] = count > 0 and (counts[name] or 0) + count or counts[name]
      if count > 0 and #items < question.limit and api.nvim_buf_is_valid(bufnr) then
        local list = raw_diagnostics.get(bufnr, { severity = severity })
        for _, item in ipairs(raw_diagnostics.first(list, question.limit - #items)) do
          items[#items + 1] = to_host_format(path, bufnr, item)
        end
      end
      slices.check()
    end
  end
  return { items = items, counts = next(counts) and counts or vim.empty_dict() }
end

---@param start acp.TurnStart
local function record_start(start)
  for _, bufnr in ipairs(api.nvim_list_bufs()) do
    local path = api.nvim_buf_is_valid(bufnr) and path_of(bufnr)
    if path then
      start.open[path] = api.nvim_buf_is_loaded(bufnr) or start.open[path]
      raw_diagnostics.each(raw_diagnostics.get(bufnr), function(item)
        start.counts[path] = start.counts[path] or {}
        local counts, name = start.counts[path], key(item)
        counts[name] = (counts[name] or 0) + 1
      end)
    end
  end
end

--- Record the diagnostics at the start of a turn.
---@param session integer
function M.turn_begins(session)
  publications.watch()
  local start = { counts = {}, open = {}, done = false } ---@type acp.TurnStart
  starts[session] = start
  slices.run(function() record_start(start) end, function()
    start.done = true
    if start.finish then start.finish() end
  end)
end

---@param session integer
function M.forget(session) starts[session] = nil end

--- Return the diagnostics of a file that were added, and the current count of each key.
local function added_diagnostics(file, before, question)
  local added, counts = {}, {}
  local list = api.nvim_buf_is_valid(file[2]) and raw_diagnostics.get(file[2]) or {}
  raw_diagnostics.each(list, function(item)
    if item.severity > question.severity then return end
    local name = key(item)
    counts[name] = (counts[name] or 0) + 1
    if counts[name] > (before[name] or 0) then added[#added + 1] = item end
  end)
  return added, counts
end

--- Return those earlier diagnostics of a file that are gone now.
local function removed(path, before, counts, question)
  local gone, n = {}, 0
  for name, count in pairs(before) do
    n = n + 1
    if n % 250 == 0 then slices.check() end
    local severity, source, message = unpack(vim.split(name, '\0', { plain = true }))
    for _ = (counts[name] or 0) + 1, tonumber(severity) <= question.severity and count or 0 do
      gone[#gone + 1] = {
        path = path,
        severity = SEVERITIES[tonumber(severity)],
        source = source ~= '' and source or nil,
        message = message,
      }
    end
  end
  return gone
end

--- Return the diagnostics that a turn has added and removed.
---@param question acp.DiagnosticsQuestion
---@param start acp.TurnStart
local function changes_in_turn(question, start)
  local answer = { items = {}, removed = {}, unknown = {}, added_count = 0, removed_count = 0 }
  local seen = {}
  local function add_removed(path, counts)
    local old = removed(path, start.counts[path] or {}, counts, question)
    local room = math.max(question.limit - #answer.removed, 0)
    vim.list_extend(answer.removed, old, 1, math.min(#old, room))
    answer.removed_count = answer.removed_count + #old
  end
  for _, file in ipairs(files(question)) do
    local path, bufnr = file[1], file[2]
    seen[path] = true
    local new, counts = added_diagnostics(file, start.counts[path] or {}, question)
    for _, item in ipairs(raw_diagnostics.first(new, question.limit - #answer.items)) do
      answer.items[#answer.items + 1] = to_host_format(path, bufnr, item)
    end
    answer.added_count = answer.added_count + #new
    local unknown = #new > 0 and not start.open[path] and not start.counts[path]
    if unknown then answer.unknown[#answer.unknown + 1] = path end
    add_removed(path, counts)
  end
  for path in pairs(start.counts) do
    local wanted = question.path == path or not question.path and is_below(path, question.roots)
    if wanted and not seen[path] then add_removed(path, {}) end
  end
  return answer
end

--- Return the buffers with language servers, updated from their files.
local function buffers_with_servers(question)
  local bufnrs = {}
  for _, bufnr in ipairs(api.nvim_list_bufs()) do
    if api.nvim_buf_is_loaded(bufnr) and #vim.lsp.get_clients({ bufnr = bufnr }) > 0 then
      local path = path_of(bufnr)
      if path and is_below(path, question.roots) then
        bufnrs[#bufnrs + 1] = require('acp.buffers.live').buffer(path)
      end
    end
  end
  return bufnrs
end

--- Return the names of the servers that have not published diagnostics for the last change.
local function silent_servers(bufnrs)
  local names = {}
  for _, bufnr in ipairs(bufnrs) do
    for _, client in ipairs(api.nvim_buf_is_loaded(bufnr) and publications.silent(bufnr) or {}) do
      names[client.name] = true
    end
  end
  return require('acp.base.sorted_keys')(names)
end

--- Wait for the servers of these buffers, then reply.
---@param question acp.DiagnosticsQuestion
---@return fun() cancel
local function answer(reply, question, bufnrs, wait_ms)
  local reads
  local function finish(result, err)
    if not err then
      result.silent = silent_servers(bufnrs)
      result.has_server = vim.iter(bufnrs):any(
        function(bufnr) return #vim.lsp.get_clients({ bufnr = bufnr }) > 0 end
      )
    end
    reply(result, err)
  end
  local function read()
    local start = starts[question.session]
    if question.turn and not start then
      return reply(nil, 'the diagnostics before this turn are not known: call this without since')
    elseif question.turn and not start.done then
      start.finish = read
      return
    end
    local function work()
      return question.turn and changes_in_turn(question, start) or first_diagnostics(question)
    end
    reads = slices.run(work, finish)
  end
  local waits = publications.wait(bufnrs, wait_ms, read)
  return function()
    waits()
    if reads then reads() end
  end
end

--- Read diagnostics. The reply has `items`, `counts` by severity, `silent` (servers without
--- diagnostics for the last change) and `has_server` (whether a server is attached). With `turn`,
--- `items` are the added ones and `removed` the removed ones, `added_count` and `removed_count` are
--- their numbers, and `unknown` has the files that were not open at the start of the turn.
---@param reply acp.Reply
---@param question acp.DiagnosticsQuestion
---@return fun()|nil cancel
function M.read(reply, question)
  publications.watch()
  if not question.path then
    return answer(reply, question, buffers_with_servers(question), question.wait_ms)
  end
  local hidden = require('acp.buffers.language.hidden')
  local bufnr, why = hidden.buffer(question.path, question.load and question.session or nil)
  if not bufnr then return reply(nil, why) end
  local began, cancel = vim.uv.now(), nil
  local wait = { method = 'textDocument/publishDiagnostics', wait_ms = question.wait_ms }
  local stop = require('acp.buffers.language.clients').wait(bufnr, wait, function(_, why_no_server)
    local has_diagnostics = next(vim.diagnostic.count(bufnr)) ~= nil
    if why_no_server and not has_diagnostics then return reply(nil, why_no_server) end
    local left = math.max(question.wait_ms - (vim.uv.now() - began), 0)
    cancel = answer(reply, question, { bufnr }, left)
  end)
  return function()
    stop()
    if cancel then cancel() end
  end
end

return M
