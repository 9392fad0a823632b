--- Run a command's body. Show an error in it as one line, without a traceback. An error with a
--- location is a bug in the plugin or in the user's own functions.
---@param fn fun(...: any)
---@param ... any
return function(fn, ...)
  local ok, why = pcall(fn, ...)
  if not ok then
    local message = require('acp.base.text.error_message')(why)
    local is_fault = message ~= why
    local show = is_fault and require('acp.base.installation.updated').show_fault
      or require('acp.base.notify').error
    show(message:match('^[^\n]*'))
  end
end
