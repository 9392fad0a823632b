--- The marks of Markdown, which nobody wants to read: concealed where the cursor is not, as far as
--- 'conceallevel' says. Asked for the rows that are being drawn, so nothing is kept of them.
local M = {}

local api = vim.api

--- First byte, the one behind the last one, and the character in their place.
---@alias acp.Concealed { [1]: integer, [2]: integer, [3]: string? }[]

--- An address as a text: what it leads to is not concealed, lest it leads somewhere else.
local ADDRESS = '://'

---@param text string
---@return acp.Concealed
local function heading(text)
  local marks = text:match('^ ? ? ?#+%s+')
  return marks and { { 0, #marks } } or {}
end

--- Marks of code may stand within those of what is strong.
---@param text string
---@return acp.Concealed
local function strong(text)
  local bytes = text:match('^..`[^`]*`..$') and 3 or 2
  return { { 0, bytes }, { #text - bytes, #text } }
end

---@param bytes integer at both ends
local function ends(bytes)
  return function(text) return { { 0, bytes }, { #text - bytes, #text } } end
end

---@param text string
---@return acp.Concealed
local function code(text) return ends(#text:match('^`*'))(text) end

--- What is behind the marks says the language.
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

--- What the state of a task is drawn as, as that of a tool call is.
local TASKS = { [' '] = '○', ['-'] = '◐', ['x'] = '✓', ['~'] = '⊘' }

---@param text string
---@return acp.Concealed
local function item(text)
  local task = TASKS[text:match('^%- %[(.)%] $')]
  if task then return { { 0, 1, task }, { 1, 5 } } end
  return text:match('^[-*+]$') and { { 0, 1, '•' } } or {}
end

---@param text string
---@return acp.Concealed
local function quote(text) return { { 0, 1, '▎' } } end -- luacheck: ignore 212

---@param text string
---@return acp.Concealed
local function cells(text)
  local found = {}
  local between = text:match('^|[-:| ]+$') ~= nil
  for at in text:gmatch('()[|:-]') do
    local byte = text:sub(at, at)
    if byte == '|' and text:sub(at - 1, at - 1) ~= '\\' then
      found[#found + 1] = { at - 1, at, between and '┼' or '│' }
    elseif between and byte ~= '|' then
      found[#found + 1] = { at - 1, at, '─' }
    end
  end
  return found
end

--- By group of a span, what of its text is concealed.
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

--- Plugins that draw Markdown, and the name of the marks of what is more than a part of a line.
local OTHERS = { ['render-markdown'] = 'render-markdown.nvim', markview = 'markview/markdown' }

---@return boolean
local function has_marks(bufnr, ns, first, last)
  return #api.nvim_buf_get_extmarks(bufnr, ns, first, last, { limit = 1 }) > 0
end

--- The namespace of another plugin that draws the Markdown of a buffer; marks are left to it then.
---@return integer?
function M.others(bufnr)
  for module, name in pairs(OTHERS) do
    local ns = package.loaded[module] and api.nvim_get_namespaces()[name]
    if ns and has_marks(bufnr, ns, 0, -1) then return ns end
  end
end

--- Whether it has drawn this row: some plugins see a change only once the user is in the window.
---@param others integer namespace
---@return boolean
function M.has_drawn(bufnr, others, row)
  local first, last = { row, 0 }, { row, -1 }
  return has_marks(bufnr, others, first, last)
end

--- Whether anything of such a span may be concealed.
---@param group string
---@return boolean
function M.has(group) return by_group[group] ~= nil end

--- Whether such a span stands within a line: not all other plugins see to these.
---@param group string
---@return boolean
function M.is_inline(group) return INLINE[group] ~= nil end

--- What is concealed of a span, in bytes of its row.
---@param group string
---@param text string of the row
---@param first integer byte
---@param last integer byte
---@return acp.Concealed
function M.of(group, text, first, last)
  local found = by_group[group](text:sub(first + 1, last))
  for _, part in ipairs(found) do
    part[1], part[2] = part[1] + first, part[2] + first
  end
  return found
end

--- Conceal what there is of a span in a row that is being drawn. At 'conceallevel' 3, which other
--- plugins set, Neovim shows nothing in place of a mark: what is to be seen is drawn over it then,
--- but not in a table, whose columns are measured.
---@param ns integer
---@param level integer 'conceallevel', or 0 where the row shows its marks
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
