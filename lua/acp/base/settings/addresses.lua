--- Checks of the options `agents.*.url` and `agents.*.headers`. Messages never contain a value: it
--- may be a secret.
local M = {}

local nearest, sorted_keys = require('acp.base.text.nearest'), require('acp.base.sorted_keys')

local schemes = { 'ws', 'wss', 'http', 'https' }

--- Headers that ACP or HTTP itself defines.
local reserved = {
  ['accept'] = true,
  ['accept-encoding'] = true,
  ['connection'] = true,
  ['content-length'] = true,
  ['content-type'] = true,
  ['host'] = true,
  ['last-event-id'] = true,
  ['te'] = true,
  ['transfer-encoding'] = true,
  ['upgrade'] = true,
}

--- Describe a valid host and port, or return nil if they are valid.
---@param place string the part between `//` and the path
local function host_should(place)
  local at = place:match('^.*@(.*)$') or place
  local host, port = at:match('^(%[[%x:.]+%])(.*)$')
  if not host then
    host, port = at:match('^([^:]*)(.*)$')
  end
  local number = tonumber(port:match('^:(%d+)$'))
  if host == '' then return 'an address with a host' end
  if port ~= '' and port ~= ':' and not (number and number > 0 and number < 65536) then
    return 'an address whose port is a number from 1 to 65535'
  end
end

--- Return an error if a scheme looks like a misspelled built-in one. Any other name may belong to a
--- custom transport.
local function hint(scheme)
  local near = nearest.hint(scheme, schemes)
  return near ~= '' and ('an address of ws, wss, http or https%s'):format(near) or nil
end

--- Return an address without its user, password and query, which may be secrets.
---@param url string
function M.without_secrets(url)
  local scheme, place, path = url:match('^([^:]+://)([^/?#]*)([^?#]*)')
  return scheme and scheme .. (place:match('^.*@(.*)$') or place) .. path or ''
end

--- Return whether any of these agents has an address.
---@param agents table<string, acp.AgentConfig>
function M.has_any(agents)
  return vim.iter(agents):any(function(_, agent) return agent.url ~= nil end)
end

---@type acp.Check
function M.url(value)
  local example = "an address like 'wss://host/path' (ws, wss, http or https)"
  if type(value) ~= 'string' or value:find('[%c%s]') then return example end
  local scheme, place, rest = value:match('^(%a[%w+.-]*)://([^/?#]*)(.*)$')
  if not scheme then return example end
  if rest:find('#', 1, true) then return 'an address without #' end
  local known = vim.tbl_contains(schemes, scheme:lower())
  return known and host_should(place) or (not known and hint(scheme)) or nil
end

---@type acp.Check
function M.headers(value)
  if not require('acp.base.settings.is_map')(value) then return 'a table of headers by name' end
  for _, name in ipairs(sorted_keys(value)) do
    local text = value[name]
    if type(name) ~= 'string' or not name:find("^[%w!#$%%&'*+.^_`|~-]+$") then
      return ("a table in which '%s' is not the name of a header"):format(tostring(name))
    elseif type(text) ~= 'string' or text:find('[%z\1-\8\10-\31\127]') then
      return ("a table in which '%s' is a string on one line"):format(name)
    elseif reserved[name:lower()] or name:lower():find('^acp%-') or name:lower():find('^sec%-') then
      return ("a table without '%s', which the plugin sets"):format(name)
    end
  end
end

return M
