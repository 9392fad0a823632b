--- Return the message of an error, without the location that Lua adds to a text.
---@param err any
---@return string
return function(err) return (tostring(err):gsub('^[^\n]-:%d+: ', '')) end
