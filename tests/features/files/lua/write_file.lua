local path, text = ...
local file = assert(io.open(path, 'w'))
file:write(text)
file:close()
