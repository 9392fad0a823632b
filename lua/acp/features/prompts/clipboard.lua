--- Image in the clipboard of the terminal, by kitty's protocol (OSC 5522), which works over ssh.
local M = {}

--- First versions with the protocol, by the name of a terminal.
---@type table<string, integer[]>
local SINCE = { kitty = { 0, 27 } }

--- Types of images that agents take, the best first.
local TYPES = { 'image/png', 'image/jpeg', 'image/webp', 'image/gif' }

--- Request for the types in the clipboard, in place of a type.
local LIST = '.'

local QUERY = '\27]5522;type=read;%s\27\\'

--- Longest time for an answer. kitty asks its user for permission first.
local PATIENCE_MS = 60000

--- Read content of one type. It arrives in pieces.
---@param wanted string type, or `LIST`
---@param fn fun(content: string|nil) nil if the terminal refuses
local function read(wanted, fn)
  local pieces, is_complete = {}, false
  require('acp.base.terminal').query(QUERY:format(vim.base64.encode(wanted)), function(response)
    local status, piece = response:match('^\27%]5522;type=read:status=(%u+)[^;]*;?(.*)')
    if status == 'DATA' then
      local ok, content = pcall(vim.base64.decode, piece)
      if not ok then return true end
      pieces[#pieces + 1] = content
    end
    is_complete = status == 'DONE'
    return status ~= nil and status ~= 'OK' and status ~= 'DATA'
  end, function() fn(is_complete and table.concat(pieces) or nil) end, PATIENCE_MS)
end

---@param fn fun(is_supported: boolean)
local function check(fn)
  if vim.env.TMUX then return fn(false) end -- it takes the answer for keys
  local module = require('acp.base.terminal')
  module.ask(function(found) fn(found ~= nil and module.has_version(found, SINCE[found.name])) end)
end

--- Frame operation: attach the image in the terminal's clipboard, because no program has read one.
---@param n integer|nil composer
---@param reason string message if the terminal has no such protocol
function M.attach(n, reason)
  local notify = require('acp.base.notify')
  check(function(is_supported)
    if not is_supported then return notify.echo('warn', reason) end
    read(LIST, function(list)
      if not list then return notify.show('warn', 'clipboard_refused') end
      local offered = vim.split(list, '%s+')
      local best = vim.iter(TYPES):find(function(kind) return vim.tbl_contains(offered, kind) end)
      if not best then return notify.show('warn', 'clipboard_no_image') end
      read(best, function(image)
        if not image then return notify.show('warn', 'clipboard_refused') end
        local encoded = vim.base64.encode(image)
        require('acp.base.host').notify('attach', { image = encoded, composer = n })
      end)
    end)
  end)
end

return M
