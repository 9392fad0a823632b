--- Current session: the session of the chat or composer that the user entered last.
local M = {}

--- Return the number of the session that a chat or composer belongs to.
local function session_of(name)
  local n = tonumber(name:match('^acp://chat/(%d+)$') or name:match('^acp://composer/(%d+)$'))
  return n and require('acp.base.state').get().sessions[n] and n or nil
end

--- Return the session whose chat or composer the current window shows.
---@return integer|nil
function M.here() return session_of(vim.api.nvim_buf_get_name(0)) end

--- Notify the host when the user enters the chat or composer of another session. Idempotent.
M.watch = require('acp.base.once')(function()
  require('acp.base.autocmds').group('acp.current')('BufEnter', function(args)
    -- Loading a hidden buffer fires this event, too.
    local is_hidden = vim.fn.win_gettype() == 'autocmd'
    local n = not is_hidden and session_of(vim.api.nvim_buf_get_name(args.buf)) or nil
    local host = require('acp.base.host')
    if n and n ~= require('acp.base.state').current() and host.is_running() then
      host.notify('current', { session = n })
    end
  end, { pattern = { 'acp://chat/*', 'acp://composer/*' } })
end)

return M
