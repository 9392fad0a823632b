--- Run a command's body. Show an error in it as one line, without a traceback.
---@param fn fun(...: any)
---@param ... any
return function(fn, ...)
  local ok, why = pcall(fn, ...)
  if not ok then
    local line = tostring(why):gsub('^[^\n]-:%d+: ', ''):match('^[^\n]*')
    require('acp.base.notify').error(line)
  end
end
