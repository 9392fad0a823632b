--- Debugger tools for agents: sessions of nvim-dap, stacks, variables and breakpoints. They only
--- read; nothing is started, stepped or evaluated.
local results = require('acp.features.tools.packs.results')

local LIMIT_MS = 5000

---@param cwd string
local function frame_place(frame, cwd)
  local path = frame.source and (frame.source.path or frame.source.name)
  return path and ('%s:%d'):format(results.display_path(path, cwd), frame.line or 1)
    or 'an unknown place'
end

local function sessions()
  local all = vim.tbl_values(require('dap').sessions())
  local i = 1
  while all[i] do
    vim.list_extend(all, vim.tbl_values(all[i].children or {}))
    i = i + 1
  end
  table.sort(all, function(a, b) return a.id < b.id end)
  return all
end

--- Return the session with the number in `args`, or else the one that is current in nvim-dap.
local function chosen(args)
  local id = results.argument(args, 'session', 'number')
  local dap = require('dap')
  if not id then return dap.session() or sessions()[1] or error('there is no debug session', 0) end
  for _, session in ipairs(sessions()) do
    if session.id == id then return session end
  end
  error(('there is no debug session %d: nvim_debug_state lists them'):format(id), 0)
end

local function message_of(err)
  local message = type(err) == 'table' and err.message or err
  return ('the debugger refuses: %s'):format(results.line(message, 300))
end

--- Return a tool function that sends requests to the debugger. `work(ask)` runs in a coroutine and
--- returns the result. `ask(session, command, arguments)` yields until the answer.
---@param work fun(ask: fun(session: table, command: string, arguments?: table): table): table
local function with_debugger(work)
  return function(reply)
    local is_over = false
    local thread
    local function finish(...)
      if is_over then return end
      is_over = true
      reply(...)
    end
    local function step(...)
      if is_over then return end
      local ok, result = coroutine.resume(thread, ...)
      if not ok then return finish(nil, result) end
      if coroutine.status(thread) == 'dead' then finish(result) end
    end
    local function ask(session, command, arguments)
      local answered, now, err, body = false, true, nil, nil
      session:request(command, arguments, function(failure, found)
        answered, err, body = true, failure, found
        if not now then vim.schedule(function() step() end) end
      end)
      now = false
      if not answered then coroutine.yield() end
      if err then error(message_of(err), 0) end
      return body or {}
    end
    thread = coroutine.create(function() return work(ask) end)
    vim.defer_fn(function() finish(nil, 'the debugger has not answered within 5 s') end, LIMIT_MS)
    step()
    return function() is_over = true end
  end
end

---@param session table
local function describe(session, cwd)
  local config, frame = session.config or {}, session.current_frame
  local is_stopped = session.stopped_thread_id ~= nil
  return {
    session = session.id,
    name = config.name,
    type = config.type,
    state = not session.initialized and 'starting' or is_stopped and 'stopped' or 'running',
    thread = session.stopped_thread_id,
    place = is_stopped and frame and frame_place(frame, cwd) or nil,
    ['function'] = is_stopped and frame and frame.name or nil,
  }
end

local function state(_, ctx)
  local all = vim.tbl_map(function(item) return describe(item, ctx.cwd) end, sessions())
  return results.list('sessions', all, results.LIMIT, function(item)
    local where = item.place and (' at %s in %s'):format(item.place, item['function']) or ''
    local name = item.name or item.type or 'debug session'
    return ('%d %s: %s%s'):format(item.session, name, item.state, where)
  end, 'there is no debug session')
end

--- Return the thread in `args`, or else the one that has stopped.
local function thread_of(session, args)
  local thread = results.argument(args, 'thread', 'number') or session.stopped_thread_id
  return thread or error('the program is running: it has not stopped', 0)
end

local function stack(args, ctx)
  local session, limit = chosen(args), results.limit(args)
  local thread = thread_of(session, args)
  return with_debugger(function(ask)
    local answer = ask(session, 'stackTrace', { threadId = thread, levels = limit + 1 })
    local frames = vim.tbl_map(
      function(frame)
        return {
          frame = frame.id,
          name = frame.name,
          path = frame.source
            and frame.source.path
            and results.display_path(frame.source.path, ctx.cwd),
          place = frame_place(frame, ctx.cwd),
          line = frame.line,
          column = frame.column,
        }
      end,
      answer.stackFrames or {}
    )
    local list = results.list(
      'frames',
      frames,
      limit,
      function(frame) return ('%s %s [frame %d]'):format(frame.place, frame.name, frame.frame) end,
      'the stack is empty'
    )
    list.data.thread = thread
    return list
  end)
end

local function variable(item, scope)
  local has_more = (item.variablesReference or 0) > 0
  return {
    scope = scope,
    name = item.name,
    type = item.type ~= '' and item.type or nil,
    value = results.line(item.value or '', 500),
    reference = has_more and item.variablesReference or nil,
  }
end

--- Return the variables of a reference. Lazy ones are left out, because reading them would run the
--- program's code.
local function children(ask, session, reference, scope)
  local answer = ask(session, 'variables', { variablesReference = reference })
  local plain = vim.tbl_filter(
    function(item) return not (item.presentationHint or {}).lazy end,
    answer.variables or {}
  )
  return vim.tbl_map(function(item) return variable(item, scope) end, plain)
end

local function variable_line(item)
  local typed = item.type and (': %s'):format(item.type) or ''
  local more = item.reference and (' [reference %d]'):format(item.reference) or ''
  local scope = item.scope and item.scope .. ' · ' or ''
  return ('%s%s%s = %s%s'):format(scope, item.name, typed, item.value, more)
end

local function variables(args)
  local session, limit = chosen(args), results.limit(args)
  local reference = results.argument(args, 'reference', 'number')
  local frame = results.argument(args, 'frame', 'number') or (session.current_frame or {}).id
  if not reference and not frame then thread_of(session, args) end
  return with_debugger(function(ask)
    local listed = {}
    if reference then
      listed = children(ask, session, reference)
    else
      for _, scope in ipairs(ask(session, 'scopes', { frameId = frame }).scopes or {}) do
        if not scope.expensive and #listed <= limit then
          vim.list_extend(listed, children(ask, session, scope.variablesReference, scope.name))
        end
      end
    end
    return results.list('variables', listed, limit, variable_line, 'there are no variables')
  end)
end

local function breakpoint(bufnr, item, cwd)
  local line = vim.api.nvim_buf_get_lines(bufnr, item.line - 1, item.line, false)[1] or ''
  return {
    path = results.display_path(vim.api.nvim_buf_get_name(bufnr), cwd),
    line = item.line,
    text = results.line(line, 200),
    condition = item.condition,
    hit_condition = item.hitCondition,
    log_message = item.logMessage,
    rejected = item.state and item.state.verified == false or nil,
  }
end

local function breakpoint_line(item)
  local notes = {}
  for _, name in ipairs({ 'condition', 'hit_condition', 'log_message' }) do
    if item[name] then notes[#notes + 1] = ('%s: %s'):format(name:gsub('_', ' '), item[name]) end
  end
  if item.rejected then notes[#notes + 1] = 'the debugger has rejected it' end
  local note = #notes > 0 and (' (%s)'):format(table.concat(notes, ', ')) or ''
  return ('%s:%d %s%s'):format(item.path, item.line, item.text, note)
end

local function breakpoints(args, ctx)
  local listed = {}
  for bufnr, all in pairs(require('dap.breakpoints').get()) do
    for _, item in ipairs(all) do
      listed[#listed + 1] = breakpoint(bufnr, item, ctx.cwd)
    end
  end
  table.sort(listed, results.by_place)
  return results.list(
    'breakpoints',
    listed,
    results.limit(args),
    breakpoint_line,
    'no breakpoint is set'
  )
end

local SESSION = { 'integer', 'Number of a debug session (default: the one that the user looks at)' }
local LIMIT = { 'integer', 'Maximum number of results (default: 100)' }

---@type table<string, acp.PackTool>
return {
  nvim_debug_state = {
    title = 'Debugger',
    description = "Debug sessions of the user's debugger: whether the program is running or has "
      .. 'stopped, and where. Call this first when the user mentions a crash, a breakpoint or '
      .. 'a value. '
      .. 'Example: {}',
    schema = results.schema({}),
    run = state,
  },
  nvim_debug_stack = {
    title = 'Stack',
    description = 'Call stack of the program that has stopped in the debugger, innermost first, '
      .. 'with the number of each frame. Real execution state, rather than a guess from the code. '
      .. 'Example: {"limit": 20}',
    schema = results.schema({
      session = SESSION,
      thread = { 'integer', 'Id of a thread (default: the one that has stopped)' },
      limit = LIMIT,
    }),
    run = stack,
  },
  nvim_debug_variables = {
    title = 'Variables',
    description = 'Variables and their values in a frame of the program that has stopped in the '
      .. 'debugger. With reference, the members of one of them. Runs nothing. '
      .. 'Example: {"frame": 1000}',
    schema = results.schema({
      session = SESSION,
      frame = { 'integer', 'Number of a frame from nvim_debug_stack (default: the current one)' },
      reference = { 'integer', 'Reference of a variable, to list its members' },
      limit = LIMIT,
    }),
    run = variables,
  },
  nvim_debug_breakpoints = {
    title = 'Breakpoints',
    description = 'Breakpoints that the user has set, with their conditions and log messages. '
      .. 'Example: {}',
    schema = results.schema({ limit = LIMIT }),
    run = breakpoints,
  },
}
