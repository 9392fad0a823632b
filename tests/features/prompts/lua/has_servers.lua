-- Return whether the editor's tools know a language server.
local found
require('acp.buffers.language.proposed').has_clients(function(any) found = any end)
return found
