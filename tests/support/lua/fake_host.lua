_G.sent = {}
_G.host = { running = true, takes = true }
package.loaded['acp.base.host'] = {
  notify = function(verb, args)
    local is_empty = args and next(args) == nil -- sent as a map, as the host does
    table.insert(_G.sent, { verb, is_empty and vim.empty_dict() or args })
    return _G.host.takes
  end,
  is_running = function() return _G.host.running end,
  is_usable = function() return true end,
  setup = function()
    if _G.host.running then table.insert(_G.sent, { 'setup', require('acp.config').for_host() }) end
  end,
}
require('acp.features')
_G.notified = {}
