--- Run a command's body. Show an error in it as one line, without a traceback.
---@param fn fun(...: any)
---@param ... any
return function(fn, ...)
  local ok, why = pcall(fn, ...)
  if not ok then
    local message = require('acp.base.text.error_message')(why)
    require('acp.base.notify').error(message:match('^[^\n]*'))
  end
end
