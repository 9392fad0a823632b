local path = ...
local function frame(id, name, line)
  return { id = id, name = name, line = line, column = 1, source = { path = path } }
end
local answers = {
  stackTrace = { stackFrames = { frame(10, 'add', 2), frame(11, 'main', 5) } },
  scopes = { scopes = { { name = 'Locals', variablesReference = 1, expensive = false } } },
}
local variables = {
  {
    { name = 'total', type = 'int', value = '3', variablesReference = 0 },
    { name = 'box', type = 'Box', value = '<Box>', variablesReference = 2 },
  },
  {
    { name = 'size', type = 'int', value = '7', variablesReference = 0 },
    { name = 'lazy', value = '', variablesReference = 3, presentationHint = { lazy = true } },
  },
}
local session = {
  id = 1,
  initialized = true,
  stopped_thread_id = 1,
  current_frame = frame(10, 'add', 2),
  config = { name = 'Launch', type = 'fake' },
  children = {},
  request = function(_, command, arguments, callback)
    vim.schedule(function()
      local body = answers[command] or { variables = variables[arguments.variablesReference] }
      callback(nil, body)
    end)
  end,
}
package.loaded['dap.breakpoints'] = {
  get = function() return { [vim.fn.bufnr(path)] = { { line = 2, condition = 'total > 2' } } } end,
}
package.loaded.dap = {
  session = function() return session end,
  sessions = function() return { session } end,
}
