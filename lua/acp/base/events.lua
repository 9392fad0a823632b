--- `User` autocommands of the plugin (`:help acp-events`).
local M = {}

--- Whether a handler's pattern takes an event: plain names are compared, anything else may match.
local function takes(pattern, name) return pattern == name or pattern:find('[^%w_]') ~= nil end

--- Whether anybody listens. To look costs more than one event to nobody, and less than many.
function M.listened(name)
  local handlers = vim.iter(vim.api.nvim_get_autocmds({ event = 'User' }))
  return handlers:any(function(handler) return takes(handler.pattern, name) end)
end

--- Run the handlers of an event. The error of one is the user's to see, and must not lose what
--- comes after it.
---@param data table
function M.fire(name, data)
  local opts = { pattern = name, data = data, modeline = false }
  local ok, err = pcall(vim.api.nvim_exec_autocmds, 'User', opts)
  if not ok then
    require('acp.base.notify').echo(
      'error',
      require('acp.base.messages').handler_failed:format(name, err)
    )
  end
end

return M
