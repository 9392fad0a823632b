--- Signals of lower rooms to higher ones, so that a room requires only lower ones. `acp.wiring`
--- sets the listeners, one for each name.
---
--- key_pressed (window, action, bufnr, n)   a key of one of our windows
--- setup (args)                             the host is told the options: listeners add theirs
--- host_starts (args)                       arguments of the first `setup` of a host
--- verb_goes ()                             the host is about to be told what the user did
--- host_gone (message)                      the host has ended
--- chat_replaced (old, new)                 chat `new` stands where chat `old` was
--- chat_opened (n)                          chat n has a window of its own from now on
--- draft_changed ()                         what the user writes is another
--- draft_goes ()                            a prompt was sent, or waits
--- composer_opens (n)                       returns whether a draft has come back to it
--- attached (n)                             other files go with the next prompt of composer n
--- prompt_comes_back (n, text)              a prompt could not be sent
--- hunks_told (path, bufnr, hunks)          the pending hunks of a file in a buffer
--- lines_shown (session, path, line)        an agent shows lines of a file to the user
--- options_changed ()                       `setup()` was called
--- options_wrong (mistakes)                 it had mistakes, one line each
local M = {}

local listeners = {} ---@type table<string, function>

---@param listener function
function M.on(name, listener) listeners[name] = listener end

---@param ... any
---@return any what the listener returns
function M.emit(name, ...)
  local listener = listeners[name]
  return listener and listener(...)
end

return M
