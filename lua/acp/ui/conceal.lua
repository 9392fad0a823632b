--- Concealed marks of Markdown. The cursor's row shows them, and 'conceallevel' applies. Only rows
--- that are being drawn are processed, and no state is kept.
local M = {}

local api = vim.api

--- List of first byte, end byte (exclusive) and replacement character.
---@alias acp.Concealed { [1]: integer, [2]: integer, [3]: string? }[]

--- Mark of an address. If the text of a link is an address, its target stays visible, because the
--- two may differ.
local ADDRESS = '://'

---@param text string
---@return acp.Concealed
local function heading(text)
  local marks = text:match('^ ? ? ?#+%s+')
  return marks and { { 0, #marks } } or {}
end

---@param bytes integer at both ends
local function ends(bytes)
  return function(text) return { { 0, bytes }, { #text - bytes, #text } } end
end

--- Conceal the marks of strong text, and those of code directly inside them.
---@param text string
---@return acp.Concealed
local function strong(text)
  local bytes = text:match('^..`[^`]*`..$') and 3 or 2
  return ends(bytes)(text)
end

---@param text string
---@return acp.Concealed
local function code(text) return ends(#text:match('^`*'))(text) end

--- Conceal the marks of a fence but not the language after them.
---@param text string
---@return acp.Concealed
local function fence(text) return { { 0, #text:match('^%s*[`~]*') } } end

---@param text string
---@return acp.Concealed
local function link(text)
  local name = text:match('^%[(.*)%]%(')
  if name and not name:find(ADDRESS, 1, true) then return { { 0, 1 }, { #name + 1, #text } } end
  return text:match('^<.*>$') and ends(1)(text) or {}
end

--- Signs for the states of a task, the same as for tool calls.
local TASKS = { [' '] = '○', ['-'] = '◐', ['x'] = '✓', ['~'] = '⊘' }

---@param text string
---@return acp.Concealed
local function item(text)
  local task = TASKS[text:match('^%- %[(.)%] $')]
  if task then return { { 0, 1, task }, { 1, 5 } } end
  return text:match('^[-*+]$') and { { 0, 1, '•' } } or {}
end

---@return acp.Concealed
local function quote() return { { 0, 1, '▎' } } end

---@param text string
---@return acp.Concealed
local function cells(text)
  local listed = {}
  local is_between = text:match('^|[-:| ]+$') ~= nil
  for at in text:gmatch('()[|:-]') do
    local byte = text:sub(at, at)
    if byte == '|' and text:sub(at - 1, at - 1) ~= '\\' then
      listed[#listed + 1] = { at - 1, at, is_between and '┼' or '│' }
    elseif is_between and byte ~= '|' then
      listed[#listed + 1] = { at - 1, at, '─' }
    end
  end
  return listed
end

--- Function that returns the concealed parts of a span, by its group.
---@type table<string, fun(text: string): acp.Concealed>
local by_group = {
  AcpUser = heading,
  AcpAgent = heading,
  AcpHeading = heading,
  AcpStrong = strong,
  AcpEmphasis = ends(1),
  AcpCode = code,
  AcpFence = fence,
  AcpLink = link,
  AcpListMarker = item,
  AcpQuote = quote,
  AcpTable = cells,
}

local INLINE = { AcpStrong = true, AcpEmphasis = true, AcpCode = true, AcpLink = true }

--- Plugins that draw Markdown, and the namespace of their marks for whole lines.
local OTHERS = { ['render-markdown'] = 'render-markdown.nvim', markview = 'markview/markdown' }

---@return boolean
local function has_marks(bufnr, ns, first, last)
  return #api.nvim_buf_get_extmarks(bufnr, ns, first, last, { limit = 1 }) > 0
end

--- Return the namespace of another plugin that draws the Markdown of a buffer.
---@return integer?
function M.others(bufnr)
  for module, name in pairs(OTHERS) do
    local ns = package.loaded[module] and api.nvim_get_namespaces()[name]
    if ns and has_marks(bufnr, ns, 0, -1) then return ns end
  end
end

--- Return whether the other plugin has drawn this row. Some plugins notice a change only when the
--- window becomes current.
---@param others integer namespace
---@return boolean
function M.has_drawn(bufnr, others, row)
  local first, last = { row, 0 }, { row, -1 }
  return has_marks(bufnr, others, first, last)
end

--- Return whether spans of a highlight group may have concealed parts.
---@param group string
---@return boolean
function M.has(group) return by_group[group] ~= nil end

--- Return whether spans of a highlight group are within a line. Some plugins do not draw them.
---@param group string
---@return boolean
function M.is_inline(group) return INLINE[group] ~= nil end

--- Return the concealed parts of a span, in bytes of its row.
---@param group string
---@param text string text of the row
---@param first integer byte
---@param last integer byte
---@return acp.Concealed
function M.of(group, text, first, last)
  local parts = by_group[group](text:sub(first + 1, last))
  for _, part in ipairs(parts) do
    part[1], part[2] = part[1] + first, part[2] + first
  end
  return parts
end

--- Conceal the marks of a span in a row that is being drawn. At 'conceallevel' 3, which other
--- plugins set, Neovim shows no replacement character, so it is drawn as an overlay. In a table
--- nothing is concealed then, because its columns have been measured.
---@param ns integer
---@param level integer 'conceallevel', or 0 if the row shows its marks
function M.draw(bufnr, ns, row, group, first, last, level)
  if level == 3 and group == 'AcpTable' then return end
  local text = api.nvim_buf_get_lines(bufnr, row, row + 1, false)[1] or ''
  for _, part in ipairs(M.of(group, text, first, last)) do
    local options = { ephemeral = true, strict = false }
    if level == 3 and part[3] then
      options.virt_text, options.virt_text_pos = { { part[3], group } }, 'overlay'
    else
      options.end_col, options.conceal = part[2], part[3] or ''
      options.hl_group = part[3] and group or nil
    end
    api.nvim_buf_set_extmark(bufnr, ns, row, part[1], options)
  end
end

return M
