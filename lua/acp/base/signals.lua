--- Signals from lower folders to higher ones, because a folder may require only lower ones.
--- `acp.wiring` sets the listeners, one for each name.
---
--- key_pressed (window, action, bufnr, n)   a key was pressed in one of the plugin's windows
--- setup (args)                             options go to the host; listeners add their own
--- host_starts (args)                       arguments of the first `setup` of a host
--- verb_goes ()                             a verb that reports no buffer change is being sent
--- host_gone (message)                      the host has exited
--- chat_replaced (old, new)                 the window of chat `old` shows chat `new`
--- chat_opened (n)                          a window of its own was opened for chat n
--- draft_changed ()                         the user changed a draft
--- draft_goes ()                            a prompt was sent or queued
--- composer_opens (n)                       returns whether a draft was restored into it
--- attached (n)                             other files go with the next prompt of composer n
--- prompt_comes_back (n, text)              a prompt could not be sent
--- hunks_changed (path, bufnr, hunks)       the pending hunks of a file in a buffer changed; nil if
---                                          some of them or of their lines are left out
--- lines_shown (session, path, line)        an agent shows lines of a file to the user
--- options_changed ()                       `setup()` was called
--- options_wrong (mistakes)                 `setup()` had mistakes, one line each
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
