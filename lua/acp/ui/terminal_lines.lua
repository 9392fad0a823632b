--- The lines of a terminal whose size the agent tells: they stand in a plain buffer as the host's
--- emulator has them, however wide a window is, in the colours of the program.
local M = {}

local api = vim.api
local ns = api.nvim_create_namespace('acp.terminal')

---@alias acp.TerminalLook any[] column, end column (bytes), colours and style of each span

---@type table<integer, table<integer, acp.TerminalLook>> by buffer and row (from 1)
local looks_of = {}

--- The first sixteen colours, where no `g:terminal_color_` says: those of Neovim's terminal.
local ANSI = {
  [0] = 0x000000,
  0xe00000,
  0x00e000,
  0xe0e000,
  0x0000e0,
  0xe000e0,
  0x00e0e0,
  0xe0e0e0,
  0x808080,
  0xff4040,
  0x40ff40,
  0xffff40,
  0x4040ff,
  0xff40ff,
  0x40ffff,
  0xffffff,
}
local CUBE = { [0] = 0, 95, 135, 175, 215, 255 }
local RGB = 0x1000000

--- Bits of a style, see `looks.py`.
local STYLES = {
  { 1, 'bold' },
  { 4, 'italic' },
  { 8, 'underline' },
  { 32, 'reverse' },
  { 128, 'strikethrough' },
}
local DIM = 2

--- Neovim has room for some 20000 groups: of many colours those that come late are rounded.
local EXACT, MOST = 1000, 4000

--- A colour of the palette in RGB.
---@param index integer
---@return integer|string
local function palette(index)
  if index < 16 then return vim.g['terminal_color_' .. index] or ANSI[index] end
  if index >= 232 then return (8 + 10 * (index - 232)) * 0x10101 end
  local at = index - 16
  local red, green, blue = math.floor(at / 36), math.floor(at / 6) % 6, at % 6
  return CUBE[red] * 0x10000 + CUBE[green] * 0x100 + CUBE[blue]
end

--- A colour as Neovim's groups have it, and its number in the palette.
---@param colour integer
local function resolve(colour)
  if colour < 0 then return nil, nil end
  if colour >= RGB then return colour - RGB, nil end
  return palette(colour), colour
end

---@param look string
---@return vim.api.keyset.highlight
local function attributes(look)
  local fg, bg, style = look:match('^(-?%d+),(-?%d+),(%d+)$')
  local found = {}
  found.fg, found.ctermfg = resolve(tonumber(fg) --[[@as integer]])
  found.bg, found.ctermbg = resolve(tonumber(bg) --[[@as integer]])
  local bits = tonumber(style) --[[@as integer]]
  for _, one in ipairs(STYLES) do
    found[one[2]] = bit.band(bits, one[1]) ~= 0
  end
  if bit.band(bits, DIM) ~= 0 and not found.fg then
    local muted = api.nvim_get_hl(0, { name = 'AcpMuted', link = false })
    found.fg, found.ctermfg = muted.fg, muted.ctermfg
  end
  return found
end

local groups, count = {}, 0 ---@type table<string, integer|false>, integer

--- A true colour with a sixteenth of the shades of each part.
local function rounded(colour)
  local value = tonumber(colour) --[[@as integer]]
  return value >= RGB and tostring(RGB + bit.band(value - RGB, 0xf0f0f0)) or colour
end

---@param look string
---@return integer|false id of its group
local function define(look)
  if count >= MOST then return false end
  count = count + 1
  local name = 'AcpTerminal' .. count
  api.nvim_set_hl(0, name, attributes(look))
  return api.nvim_get_hl_id_by_name(name)
end

---@param look string
---@return integer|false id of its group
local function group(look)
  if groups[look] == nil then
    local near = count < EXACT and look or look:gsub('%d%d%d%d%d%d%d%d+', rounded)
    if groups[near] == nil then groups[near] = define(near) end
    groups[look] = groups[near]
  end
  return groups[look]
end

--- A colour scheme clears all groups, and has other colours.
local watch_colours = require('acp.base.once')(function()
  require('acp.base.autocmds').group('acp.terminal_lines')('ColorScheme', function()
    groups, count = {}, 0
  end)
end)

api.nvim_set_decoration_provider(ns, {
  on_win = function(_, _, bufnr) return looks_of[bufnr] ~= nil end,
  on_line = function(_, _, bufnr, row)
    local look = looks_of[bufnr][row + 1] or {}
    for i = 1, #look, 3 do
      local id = group(look[i + 2])
      if id then
        local options = { end_col = look[i + 1], hl_group = id, ephemeral = true, strict = false }
        api.nvim_buf_set_extmark(bufnr, ns, row, look[i], options)
      end
    end
  end,
})

--- Draw a buffer's lines from now on.
function M.watch(bufnr)
  looks_of[bufnr] = {}
  watch_colours()
end

--- It is gone.
function M.forget(bufnr) looks_of[bufnr] = nil end

--- Windows whose cursor is on the last line, with its column: they follow the end.
---@return table<integer, integer>
local function followers(bufnr)
  local last, found = api.nvim_buf_line_count(bufnr), {}
  for _, win in ipairs(vim.fn.win_findbuf(bufnr)) do
    local at = api.nvim_win_get_cursor(win)
    if at[1] == last then found[win] = at[2] end
  end
  return found
end

--- Take lines away at the top, and replace all from a row on.
---@param dropped integer -1: all
---@param first integer row
---@param looks acp.TerminalLook[]
---@param looked integer[] row (from `first` on) and number of its look, one after the other
local function replace(bufnr, dropped, first, lines, looks, looked)
  local total = api.nvim_buf_line_count(bufnr)
  local kept = looks_of[bufnr]
  if dropped ~= 0 then api.nvim_buf_set_lines(bufnr, 0, dropped, true, {}) end
  if dropped > 0 then table.move(kept, dropped + 1, total + dropped, 1) end
  api.nvim_buf_set_lines(bufnr, first, -1, true, lines)
  for row = first + 1, total do
    kept[row] = nil
  end
  for i = 1, #looked, 2 do
    kept[first + looked[i] + 1] = looks[looked[i + 1]]
  end
end

--- Bring a buffer up to date; the arguments are those of `replace`.
function M.draw(bufnr, ...)
  local windows, own = followers(bufnr), { buf = bufnr }
  api.nvim_set_option_value('modifiable', true, own)
  local ok, why = pcall(replace, bufnr, ...)
  api.nvim_set_option_value('modifiable', false, own)
  if not ok then error(why, 0) end
  local last = api.nvim_buf_line_count(bufnr)
  for win, column in pairs(windows) do
    api.nvim_win_set_cursor(win, { last, column })
  end
end

return M
