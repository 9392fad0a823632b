--- Progress in the tab or taskbar of the terminal (OSC 9;4). In other terminals OSC 9 is a
--- notification, so only terminals known to support it get it.
local M = {}

--- First versions that support progress, by the name of the terminal. WezTerm's version is a date.
---@type table<string, integer[]>
local SINCE = {
  ghostty = { 1 },
  iterm2 = { 3, 6, 6 },
  konsole = { 26, 4 },
  mintty = {},
  vte = { 8000 },
  wezterm = { 20250209 },
  windows = {},
}

---@type table<acp.Progress, string>
local SEQUENCES = {
  working = '\27]9;4;3\27\\',
  waiting = '\27]9;4;4;100\27\\',
  none = '\27]9;4;0\27\\',
}

--- Time after which the sequence is sent again. Ghostty removes it after 15 s.
local AGAIN_MS = 10000

local wanted, shown = 'none', 'none' ---@type acp.Progress, acp.Progress
local terminal ---@type acp.Terminal|nil
local timer ---@type uv.uv_timer_t|nil

local function send()
  if terminal then
    terminal.send(SEQUENCES[wanted])
    shown = wanted
  end
end

local function repeat_while_shown()
  if timer and shown == 'none' then
    timer:stop()
    timer:close()
    timer = nil
  elseif not timer and shown ~= 'none' then
    timer = assert(vim.uv.new_timer())
    timer:start(AGAIN_MS, AGAIN_MS, vim.schedule_wrap(send))
  end
end

---@param state acp.Progress
function M.show(state)
  wanted = state
  if state == 'none' then
    if shown ~= 'none' then send() end -- at once: Neovim may be about to end
    return repeat_while_shown()
  end
  local module = require('acp.base.terminal')
  module.ask(function(found)
    terminal = found and module.has_version(found, SINCE[found.name]) and found or nil
    if wanted ~= shown then send() end
    repeat_while_shown()
  end)
end

return M
