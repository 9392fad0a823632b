local cwd = ...
local file = cwd .. '/test_app.py'
local listed = {
  { id = cwd, path = cwd, name = 'project', type = 'dir' },
  { id = file, path = file, name = 'test_app.py', type = 'file', range = { 0, 0, 9, 0 } },
  { id = file .. '::good', path = file, name = 'good', type = 'test', range = { 0, 0, 1, 0 } },
  { id = file .. '::bad', path = file, name = 'bad', type = 'test', range = { 3, 0, 4, 0 } },
}
local function tree(all)
  return {
    data = function() return all[1] end,
    iter = function() return ipairs(all) end,
    get_key = function(_, id)
      local found = vim.tbl_filter(function(one) return vim.startswith(one.id, id) end, all)
      return found[1] and tree(found) or nil
    end,
  }
end
local adapter = {
  name = 'fake',
  results = function()
    return {
      [file .. '::good'] = { status = 'passed' },
      [file .. '::bad'] = { status = 'failed', errors = { { message = 'no: 1 == 2', line = 4 } } },
    }
  end,
}
package.loaded['neotest.config'] = { adapters = { adapter } }
package.loaded.nio = {
  run = function(func, callback)
    vim.schedule(function()
      local ok, err = pcall(func)
      if callback then callback(ok, err) end
    end)
  end,
}
local started = false
package.loaded.neotest = {
  run = {
    run = function()
      _G.runs = (_G.runs or 0) + 1
      adapter.results()
    end,
    stop = function() end,
    get_tree_from_args = function() started = true end,
  },
  state = {
    adapter_ids = function() return started and { 'fake:' .. cwd } or {} end,
    positions = function() return tree(listed) end,
  },
}
