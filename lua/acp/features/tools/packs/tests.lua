--- Test tools for agents: the tests that neotest has found, runs and results.
local results = require('acp.features.tools.packs.results')

--- Default and longest wait for a run. A tool call may take 30 s.
local WAIT_MS, MAX_WAIT_MS = 20000, 25000
--- Number of checks whether neotest has found the tests, which it does on first use, and their
--- interval.
local CHECKS, CHECK_MS = 40, 100

---@class acp.TestResult neotest.Result in neotest's documentation
---@field status 'passed'|'failed'|'skipped'
---@field short? string
---@field errors? { message: string, line?: integer }[]

local known = {} ---@type table<string, acp.TestResult> by position
local wrapped = setmetatable({}, { __mode = 'k' }) ---@type table<table, true> adapters

--- Wrap the adapters to record the results of each run, including the user's. neotest passes
--- results only to its consumers, which the user chooses.
local function listen()
  for _, adapter in ipairs(require('neotest.config').adapters or {}) do
    if not wrapped[adapter] and vim.is_callable(adapter.results) then
      wrapped[adapter] = true
      local own = adapter.results
      adapter.results = function(...)
        local returned = own(...)
        for id, result in pairs(returned or {}) do
          known[id] = result
        end
        return returned
      end
    end
  end
end

--- Return the trees of all adapters by id.
local function trees()
  local neotest, by_id = require('neotest'), {}
  for _, id in ipairs(neotest.state.adapter_ids()) do
    by_id[id] = neotest.state.positions(id)
  end
  return by_id
end

--- Let neotest discover tests if it has not yet. Then call `done`, even if it finds none in time.
local function discover(cwd, done)
  listen()
  if next(trees()) ~= nil then return done() end
  local checks = 0
  require('nio').run(function() require('neotest').run.get_tree_from_args({ cwd }) end)
  local function check()
    checks = checks + 1
    if next(trees()) ~= nil or checks >= CHECKS then return done() end
    vim.defer_fn(check, CHECK_MS)
  end
  check()
end

---@param place table neotest.Position
local function test(place, adapter, cwd)
  local result = known[place.id]
  return {
    id = place.id,
    name = place.name,
    path = results.display_path(place.path, cwd),
    line = place.range and place.range[1] + 1 or 1,
    adapter = adapter,
    status = result and result.status or nil,
  }
end

--- Return the tests below a position, or in the session's directory.
---@param at? string id of a position
---@return table[]
local function tests(cwd, at)
  local listed = {}
  for adapter, tree in pairs(trees()) do
    local node = at and tree:get_key(at) or not at and tree or nil
    if node then
      for _, place in node:iter() do
        if place.type == 'test' and results.is_inside(place.path, cwd) then
          listed[#listed + 1] = test(place, adapter, cwd)
        end
      end
    end
  end
  table.sort(listed, results.by_place)
  return listed
end

--- Return the position for an id, or for a path that may be relative.
local function position(cwd, path, id)
  if id then return id end
  if not path then return nil end
  local full = vim.startswith(path, '/') and path or vim.fs.joinpath(cwd, path)
  return vim.uv.fs_realpath(full) or full
end

local function line(item)
  local status = item.status and (' [%s]'):format(item.status) or ''
  return ('%s:%d %s%s (id: %s)'):format(item.path, item.line, item.name, status, item.id)
end

local function list(args, ctx)
  local limit, path = results.limit(args), results.argument(args, 'path', 'string')
  return function(reply)
    discover(ctx.cwd, function()
      local all = tests(ctx.cwd, position(ctx.cwd, path))
      reply(results.list('tests', all, limit, line, 'neotest has found no tests there'))
    end)
  end
end

--- Return the result of a test that was run.
local function outcome(item)
  local result = known[item.id] or {}
  local errors = vim.tbl_map(
    function(err)
      return { line = err.line and err.line + 1 or nil, message = vim.trim(err.message or '') }
    end,
    result.errors or {}
  )
  local described = vim.tbl_extend('force', item, { status = result.status })
  described.errors = #errors > 0 and errors or nil
  if #errors == 0 and result.status == 'failed' and result.short then
    described.output = vim.trim(result.short):sub(-4000)
  end
  return described
end

local function outcome_line(item)
  local lines = { ('%s %s:%d %s'):format(item.status, item.path, item.line, item.name) }
  for _, err in ipairs(item.errors or {}) do
    local place = err.line and ('%s:%d: '):format(item.path, err.line) or ''
    lines[#lines + 1] = '  ' .. place .. err.message:gsub('\n', '\n  ')
  end
  if item.output then lines[#lines + 1] = '  ' .. item.output:gsub('\n', '\n  ') end
  return table.concat(lines, '\n')
end

local RANKS = { failed = 1, skipped = 2, passed = 3 }

--- Report the results of tests, failed ones first.
local function report(all, limit, none)
  local counts, run = { passed = 0, failed = 0, skipped = 0 }, {}
  for _, item in ipairs(all) do
    if known[item.id] then
      run[#run + 1] = outcome(item)
      counts[item.status] = (counts[item.status] or 0) + 1
    end
  end
  table.sort(run, function(a, b)
    local rank_a, rank_b = RANKS[a.status] or 4, RANKS[b.status] or 4
    if rank_a ~= rank_b then return rank_a < rank_b end
    return results.by_place(a, b)
  end)
  local listed = results.list('results', run, limit, outcome_line, none)
  if #run > 0 then
    local head = ('%d passed, %d failed, %d skipped'):format(
      counts.passed,
      counts.failed,
      counts.skipped
    )
    listed.text = head .. '\n' .. listed.text
  end
  listed.data.counts = counts
  return listed
end

local function last_results(args, ctx)
  local limit, path = results.limit(args), results.argument(args, 'path', 'string')
  listen()
  local all = tests(ctx.cwd, position(ctx.cwd, path, results.argument(args, 'id', 'string')))
  return report(all, limit, 'no result is known there: nvim_tests_run runs tests')
end

--- Run or stop the tests at a position, or all tests, with each of these adapters.
---@param adapters table<string, true>
---@param at string|nil
---@param act fun(args: table) function of neotest
local function run_in_each(adapters, at, act)
  for adapter in pairs(adapters) do
    act({ at, suite = at == nil or nil, adapter = adapter })
  end
end

--- Run the tests at a position, or all tests, and reply with the results as soon as the run has
--- ended or the wait is over. Return a function that stops them.
local function run_and_wait(reply, args, ctx)
  local neotest, nio = require('neotest'), require('nio')
  local at = position(
    ctx.cwd,
    results.argument(args, 'path', 'string'),
    results.argument(args, 'id', 'string')
  )
  local all = tests(ctx.cwd, at)
  if #all == 0 then
    return reply(nil, 'no such tests: nvim_tests_list lists all tests with their ids')
  end
  local adapters = {}
  for _, item in ipairs(all) do
    known[item.id] = nil
    adapters[item.adapter] = true
  end
  local limit, is_over = results.limit(args), false
  local function finish(none)
    if is_over then return end
    is_over = true
    reply(report(tests(ctx.cwd, at), limit, none))
  end
  local wanted = results.argument(args, 'wait_ms', 'number') or WAIT_MS
  nio.run(function() run_in_each(adapters, at, neotest.run.run) end, function(ok, err)
    if not ok and not is_over then
      is_over = true
      return reply(nil, err)
    end
    finish('the run has ended without results: the output of neotest says more')
  end)
  vim.defer_fn(
    function() finish('it still runs: ask nvim_tests_results later') end,
    math.min(wanted, MAX_WAIT_MS)
  )
  return function()
    if is_over then return end
    is_over = true
    nio.run(function() run_in_each(adapters, at, neotest.run.stop) end)
  end
end

local function run(args, ctx)
  return function(reply)
    local cancel, cancelled
    discover(ctx.cwd, function()
      if cancelled then return end
      local ok, returned = pcall(run_and_wait, reply, args, ctx)
      if not ok then return reply(nil, returned) end
      cancel = returned
    end)
    return function()
      cancelled = true
      if cancel then cancel() end
    end
  end
end

local PATH = { 'string', 'A file or directory of tests; without it all of the project' }
local ID = { 'string', 'One test or group of tests, by its id in nvim_tests_list' }
local LIMIT = { 'integer', 'Maximum number of results (default: 100)' }

---@type table<string, acp.PackTool>
return {
  nvim_tests_list = {
    title = 'Tests',
    description = "Tests of the project that the user's test runner has found, with place, id and "
      .. 'last result. Prefer this to searching for test functions. '
      .. 'Example: {"path": "tests/test_app.py"}',
    schema = results.schema({ path = PATH, limit = LIMIT }),
    run = list,
  },
  nvim_tests_run = {
    title = 'Run tests',
    description = "Run tests with the user's own test runner and settings, and return the failures "
      .. 'with place and message. Prefer this to a shell command: the user sees the results in '
      .. 'their editor. The user is asked first. '
      .. 'Example: {"id": "tests/test_app.py::test_add"}',
    schema = results.schema({
      path = PATH,
      id = ID,
      wait_ms = { 'integer', 'Time to wait for results in ms (default: 20000, maximum: 25000)' },
      limit = LIMIT,
    }),
    write = true,
    executes = true,
    run = run,
  },
  nvim_tests_results = {
    title = 'Test results',
    description = "Results of the last test runs, including the user's own, failures first, with "
      .. 'place and message. Runs nothing. Example: {"path": "tests/test_app.py"}',
    schema = results.schema({ path = PATH, id = ID, limit = LIMIT }),
    run = last_results,
  },
}
