-- Return the number of sessions in a file that a new host has written since it was read.
local path, text = ...
local others = require('acp.features.overview.others')
local function write(content) vim.fn.writefile({ content }, path) end
write((text:gsub('"host":%d+', '"host":4194304')))
others.read()
write(text)
return #others.sessions()
