--- Progress in the tab or taskbar of the terminal (OSC 9;4). In other terminals OSC 9 is a
--- notification, so only those get it that are known to support it.
local M = {}

--- First version of a terminal that supports it, by its name. Versions are compared number by
--- number; WezTerm's first one is a date.
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

---@param found acp.Terminal
local function supports(found)
  local since = SINCE[found.name]
  if not since then return false end
  for i, number in ipairs(since) do
    local own = found.version[i] or 0
    if own ~= number then return own > number end
  end
  return true
end

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
  require('acp.base.terminal').ask(function(found)
    terminal = found and supports(found) and found or nil
    if wanted ~= shown then send() end
    repeat_while_shown()
  end)
end

return M
