--- Detection of automatic writes, such as those by autocommands, timers or 'autowrite', as opposed
--- to the user's own.
---
--- A write is the user's own in two cases. Neovim handles a key (`:w`, a mapping, `ZZ`), and no
--- autocommand is between the key and the write. Or Neovim handles no key, and an external program
--- such as a GUI sends the command. A function that runs while Neovim handles no key is the
--- callback of a timer, a process or another event.
---
--- With 'autowrite' or 'autowriteall', a key such as CTRL-^ may also write a modified buffer. In
--- that case the command line or the mapping must contain a command that writes.
local M = {}

local api, fn = vim.api, vim.fn

local BETWEEN = vim.pesc(fn.gettext('%s Autocommands for "%s"'):match('^%%s(.-)"?%%s'))
local WRITES = { 'write', 'update', 'wall', 'saveas', 'xit', 'exit', 'xall', 'wq', 'wqall' }
local MAPPED = '<[Cc][Mm][Dd]>(.-)<[Cc][Rr]>'

local entered ---@type string|nil the command line that is being executed
local last, before = '', '' -- the last two keys or mappings, as typed

--- Record keys and command lines from now on. Only a `<Cmd>` mapping enters no command line.
M.listen = require('acp.base.once')(function()
  vim.on_key(function(_, typed)
    entered = nil
    if typed and typed ~= '' then
      before, last = last, typed
    end
  end)
  require('acp.base.autocmds').group('acp.automatic_saves')('CmdlineLeave', function()
    if not vim.v.event.abort then entered = fn.getcmdline() end
  end, { pattern = ':' })
end)

--- Return whether one of the commands in a line writes.
---@param line string
local function writes(line)
  local ok, parsed = pcall(api.nvim_parse_cmd, line, {})
  if not ok then return false end
  return vim.tbl_contains(WRITES, parsed.cmd) or (parsed.nextcmd ~= '' and writes(parsed.nextcmd))
end

--- Return whether the user entered a command that writes.
local function is_requested()
  if entered then return writes(entered) end
  if before .. last == 'ZZ' then return true end
  local mode = api.nvim_get_mode().mode:sub(1, 1)
  local mapping = fn.maparg(fn.keytrans(last), mode, false, true)
  for line in (mapping.rhs or ''):gmatch(MAPPED) do
    if writes(line) then return true end
  end
  return false
end

--- Return whether the outermost call is a function, that is, the callback of an event in Lua or Vim
--- script.
local function in_callback()
  if fn.state('c') ~= '' or fn.expand('<stack>'):match('^function ') then return true end
  local calls, outermost = false, ''
  for level = 1, math.huge do
    local info = debug.getinfo(level, 'S')
    if not info then return calls and outermost == 'Lua' end
    calls = calls or info.what == 'C'
    outermost = info.what ~= 'C' and info.what or outermost
  end
end

--- Return whether the write in progress is automatic. Call this only from its autocommands.
---@return boolean
function M.is_automatic()
  local autocommands = select(2, fn.expand('<stack>'):gsub(BETWEEN, ''))
  if autocommands > 1 or fn.state('o') ~= '' then return true end
  if fn.state('S') == '' then return in_callback() end
  local by_neovim = vim.bo.modified and (vim.o.autowrite or vim.o.autowriteall)
  return by_neovim and not is_requested()
end

return M
