--- Backgrounds of pending hunks, diffs and code. The colour scheme's hues for added and removed
--- text are blended lightly into its background, so that the text on them stays readable. Without
--- 'termguicolors' groups are links, except for colours of terminals that a light background hides.
local M = {}

local api = vim.api

--- Distance in RGB from a dark background: of a line, of a changed word, of a code block. From a
--- light one, the distance is less, because syntax colours on it have less contrast.
local LINE, WORD, BLOCK = 46, 96, 20
local ON_LIGHT = 0.75

--- Maximum contrast of a line and of a changed word with the background. Green is much brighter on
--- dark backgrounds than red.
local MAX_LINE, MAX_WORD = 1.5, 2.3

--- Hues and backgrounds for colour schemes that define none.
local GREEN, RED = 135 / 360, 4 / 360
local DARK, LIGHT = 0x14161b, 0xe0e2ea

--- Greens between these hues look olive on a light background, as in gruvbox. They become `OLIVE`.
local YELLOW, OLIVE = 40 / 360, 110 / 360

--- Minimum saturation of a hue that counts. DiffChange is grey in the default scheme.
local COLOURED = 0.15

---@class acp.Tint
---@field groups? string[] groups that give the hue; without them the tint uses the text's colour
---@field hue? number
---@field distance number
---@field is_word? boolean whether it also sets the text's colour, which syntax colours can be near

---@type table<string, acp.Tint>
local tints = {
  AcpHunkAdd = { groups = { 'DiffAdd', 'Added' }, hue = GREEN, distance = LINE },
  AcpHunkChange = { groups = { 'DiffAdd', 'Added' }, hue = GREEN, distance = LINE },
  AcpHunkWord = { groups = { 'DiffAdd', 'Added' }, hue = GREEN, distance = WORD, is_word = true },
  AcpHunkRemove = { groups = { 'DiffDelete', 'Removed' }, hue = RED, distance = LINE },
  AcpHunkRemoveWord = {
    groups = { 'DiffDelete', 'Removed' },
    hue = RED,
    distance = WORD,
    is_word = true,
  },
  AcpDiffAdd = { groups = { 'DiffAdd', 'Added' }, hue = GREEN, distance = LINE },
  AcpDiffRemove = { groups = { 'DiffDelete', 'Removed' }, hue = RED, distance = LINE },
  AcpCodeBlock = { distance = BLOCK },
}

---@param colour integer 0xRRGGBB
---@return integer[] red, green, blue
local function parts(colour)
  return { math.floor(colour / 0x10000), math.floor(colour / 0x100) % 0x100, colour % 0x100 }
end

--- Return hue and saturation of a colour, each from 0 to 1.
---@param colour integer
local function hue_of(colour)
  local red, green, blue = unpack(parts(colour))
  local most, least = math.max(red, green, blue), math.min(red, green, blue)
  local span = most - least
  if span == 0 then return 0, 0 end
  local hue = most == red and (green - blue) / span % 6
    or most == green and (blue - red) / span + 2
    or (red - green) / span + 4
  return hue / 6, span / (255 - math.abs(most + least - 255))
end

--- Return the fully saturated colour of a hue.
---@param hue number
---@return integer[] red, green, blue
local function pure(hue)
  local function part(offset)
    local at = (offset + hue * 6) % 6
    return 255 * (1 - math.max(0, math.min(at, 4 - at, 1)))
  end
  return { part(5), part(3), part(1) }
end

---@return vim.api.keyset.get_hl_info
local function highlight_of(group) return api.nvim_get_hl(0, { name = group, link = false }) end

--- Return the hue of the first group that has one, from its background or else its text.
---@param groups string[]
---@param default number
local function hue_in(groups, default)
  for _, group in ipairs(groups) do
    local hl = highlight_of(group)
    local colours = hl.reverse and { hl.fg, hl.bg } or { hl.bg, hl.fg }
    for i = 1, 2 do
      local colour = colours[i]
      local hue, saturation = hue_of(colour or 0)
      if colour and saturation >= COLOURED then return hue end
    end
  end
  return default
end

--- Return the colour at this distance from `ground`, in the direction of `colour`.
---@param ground integer[]
---@param colour integer[]
---@return integer
local function blend(ground, colour, distance)
  local span = 0
  for i = 1, 3 do
    span = span + (colour[i] - ground[i]) ^ 2
  end
  local share = math.min(distance / math.sqrt(span), 1)
  local result = 0
  for i = 1, 3 do
    result = result * 0x100 + math.floor(ground[i] + share * (colour[i] - ground[i]) + 0.5)
  end
  return result
end

--- Return the relative luminance of a colour, as WCAG defines it.
---@param colour integer
local function luminance(colour)
  local sum, weights = 0, { 0.2126, 0.7152, 0.0722 }
  for i, part in ipairs(parts(colour)) do
    sum = sum + weights[i] * (part / 255) ^ 2.2
  end
  return sum
end

---@param a integer
---@param b integer
local function contrast(a, b)
  local least, most = luminance(a), luminance(b)
  if least > most then
    least, most = most, least
  end
  return (most + 0.05) / (least + 0.05)
end

---@param tint acp.Tint
---@return vim.api.keyset.highlight
local function background(tint)
  local is_light = vim.o.background == 'light'
  local ground = highlight_of('Normal').bg or (is_light and LIGHT or DARK)
  local hue = tint.groups and hue_in(tint.groups, tint.hue)
  if hue and tint.hue == GREEN and hue > YELLOW and hue < OLIVE then hue = OLIVE end
  local text = highlight_of('Normal').fg or (is_light and DARK or LIGHT)
  local distance = tint.distance * (hue and is_light and ON_LIGHT or 1)
  local colour, limit = hue and pure(hue) or parts(text), tint.is_word and MAX_WORD or MAX_LINE
  local bg
  repeat
    bg = blend(parts(ground), colour, distance)
    distance = distance * 0.95
  until contrast(bg, ground) <= limit
  return { bg = bg, fg = tint.is_word and text or nil }
end

--- Colours of terminals. On a light background, yellow is hard to read, and so is white on these.
local BLACK, MAGENTA, WHITE, YELLOW_ON_LIGHT = 0, 5, 15, { [3] = true, [11] = true }
local PALE =
  { [2] = true, [3] = true, [6] = true, [7] = true, [10] = true, [11] = true, [14] = true }

--- Return the definition of a group with other colours in a terminal, nil if its own are readable.
---@param link string
---@return vim.api.keyset.highlight|nil
local function readable(link)
  local hl = highlight_of(link)
  if vim.o.background ~= 'light' then return nil end
  if PALE[hl.ctermbg] and hl.ctermfg == WHITE then
    hl.ctermfg = BLACK
  elseif not hl.ctermbg and YELLOW_ON_LIGHT[hl.ctermfg] then
    hl.ctermfg = MAGENTA
  else
    return nil
  end
  return hl --[[@as vim.api.keyset.highlight]]
end

local defined = {} ---@type table<string, vim.api.keyset.get_hl_info>

--- Return whether neither the user nor the colour scheme defines a group. A colour scheme begins
--- with `:highlight clear`, which restores the link that was the default.
---@param group string
---@param link string
local function is_free(group, link)
  local now, before = api.nvim_get_hl(0, { name = group }), defined[group]
  if next(now) == nil or (now.default and now.link == link) then return true end
  return before ~= nil and (now.link == link or vim.deep_equal(now, before))
end

--- Return the definition of a group that is not a link, nil if it is one.
---@param link string
---@return vim.api.keyset.highlight|nil
local function own_definition(group, link)
  if not vim.o.termguicolors then return readable(link) end
  return tints[group] and background(tints[group])
end

--- Define the groups with a tint, and those that would be unreadable as links, unless the user or
--- the colour scheme defines them.
---@param links table<string, string> group -> group that it links to
function M.define(links)
  for group, link in pairs(links) do
    local own = own_definition(group, link)
    if (own or tints[group] or defined[group]) and is_free(group, link) then
      -- `:highlight clear` restores this link. It has no effect while another definition is set.
      api.nvim_set_hl(0, group, { link = link, default = true })
      if own then
        api.nvim_set_hl(0, group, own)
      elseif api.nvim_get_hl(0, { name = group }).link ~= link then
        api.nvim_set_hl(0, group, { link = link })
      end
      defined[group] = api.nvim_get_hl(0, { name = group })
    end
  end
end

return M
