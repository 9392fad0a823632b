local path, python, root = ...
local dap = require('dap')
dap.adapters.fake = {
  type = 'executable',
  command = python,
  args = { '-m', 'tests.support.debug_adapter' },
  options = { cwd = root },
}
require('dap.breakpoints').set({ condition = 'total > 2' }, vim.fn.bufnr(path), 2)
dap.run({ type = 'fake', request = 'launch', name = 'Launch', program = path })
