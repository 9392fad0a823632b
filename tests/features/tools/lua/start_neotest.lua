local cwd = ...
local adapter = { name = 'fake' }
function adapter.root() return cwd end
function adapter.filter_dir() return true end
function adapter.is_test_file(path) return vim.endswith(path, 'test_app.py') end
function adapter.discover_positions(path)
  local function at(name, row)
    return {
      id = path .. '::' .. name,
      path = path,
      name = name,
      type = 'test',
      range = { row, 0, row + 1, 0 },
    }
  end
  local name = 'test_app.py'
  local file = { id = path, path = path, name = name, type = 'file', range = { 0, 0, 9, 0 } }
  return require('neotest.types').Tree.from_list(
    { file, { at('good', 0) }, { at('bad', 3) } },
    function(one) return one.id end
  )
end
function adapter.build_spec()
  _G.runs = (_G.runs or 0) + 1
  return { command = { 'true' } }
end
function adapter.results(_, _, tree)
  local found = {}
  for _, one in tree:iter() do
    if one.name == 'good' then found[one.id] = { status = 'passed' } end
    if one.name == 'bad' then
      found[one.id] = { status = 'failed', errors = { { message = 'no: 1 == 2', line = 4 } } }
    end
  end
  return found
end
require('neotest').setup({
  adapters = { adapter },
  quickfix = { enabled = false },
  output = { enabled = false },
  log_level = vim.log.levels.OFF,
})
