_G.sent = {}
_G.host = { running = true, takes = true }
package.loaded['acp.base.host'] = {
  notify = function(verb, args)
    local data = next(args or {}) ~= nil and args or vim.empty_dict() -- as the host does
    table.insert(_G.sent, { verb, data })
    return _G.host.takes
  end,
  is_running = function() return _G.host.running end,
  is_usable = function() return true end,
  on_frame = function() end,
  setup = function()
    if _G.host.running then table.insert(_G.sent, { 'setup', require('acp.config').for_host() }) end
  end,
}
require('acp.features')
_G.notified = {}
