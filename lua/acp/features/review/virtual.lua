--- Removed lines as virtual lines, as wide as the window. Visible ones also get syntax colours and
--- highlights of the changed words.
local M = {}

--- Maximum number of removed lines to show for one hunk. The others are only counted; diff mode
--- shows all.
M.MAX_LINES = 100

--- Maximum number of bytes of removed text to parse for syntax colours.
local MAX_PARSED = 20000

local LINE, WORD, MORE = 'AcpHunkRemove', 'AcpHunkRemoveWord', 'AcpMuted'

---@alias acp.Chunk { [1]: string, [2]: string|string[] }

--- Return blanks that make a line as wide as any window. Neovim clips virtual lines at the window's
--- edge.
local function padding() return (' '):rep(vim.o.columns) end

---@param hunk acp.Hunk
---@return acp.Chunk[]|nil
local function more(hunk)
  local hidden = #hunk.removed + (hunk.more or 0) - M.MAX_LINES
  if hidden > 0 then return { { ('… %d more removed lines'):format(hidden), MORE } } end
end

--- Return virtual lines without colours.
---@param hunk acp.Hunk
---@return acp.Chunk[][]
function M.plain(hunk)
  local pad, result, lines = padding(), {}, hunk.removed
  for i = 1, math.min(#lines, M.MAX_LINES) do
    result[i] = { { lines[i] .. pad, LINE } }
  end
  result[#result + 1] = more(hunk)
  return result
end

---@alias acp.LineHighlight { [1]: integer, [2]: integer, [3]: string } col, end_col, group

--- Return the highlights of each line. Later ones override earlier ones.
---@return table<integer, acp.LineHighlight[]> by line, 1-based
local function syntax(lines, lang)
  local paints = {}
  local text = table.concat(lines, '\n')
  local query = #text <= MAX_PARSED and vim.treesitter.query.get(lang, 'highlights')
  if not query then return paints end
  local parser = vim.treesitter.get_string_parser(text, lang)
  for id, node in query:iter_captures(parser:parse()[1]:root(), text) do
    local group = ('@%s.%s'):format(query.captures[id], lang)
    local row, col, end_row, end_col = node:range()
    for at = row, end_row do
      local paint = { at == row and col or 0, at == end_row and end_col or math.huge, group }
      paints[at + 1] = paints[at + 1] or {}
      table.insert(paints[at + 1], paint)
    end
  end
  return paints
end

--- Return the language of the buffer's tree-sitter highlighting, if it is active.
local function language(bufnr)
  if not vim.treesitter.highlighter.active[bufnr] then return nil end
  return vim.treesitter.language.get_lang(vim.bo[bufnr].filetype)
end

--- Split a line where its highlights change.
---@return acp.Chunk[]
local function chunks(line, paints, words)
  local edges = { [0] = true, [#line] = true }
  for _, list in ipairs({ paints, words }) do
    for _, span in ipairs(list) do
      edges[math.min(span[1], #line)], edges[math.min(span[2], #line)] = true, true
    end
  end
  local cuts = require('acp.base.sorted_keys')(edges)
  local result = {}
  for i = 1, #cuts - 1 do
    local from, to = cuts[i], cuts[i + 1]
    local groups = {}
    for _, paint in ipairs(paints) do
      if paint[1] <= from and paint[2] >= to then groups[#groups + 1] = paint[3] end
    end
    groups[#groups + 1] = LINE
    for _, word in ipairs(words) do
      if word[1] <= from and word[2] >= to then groups[#groups + 1] = WORD end
    end
    result[i] = { line:sub(from + 1, to), groups }
  end
  return result
end

--- Return virtual lines with syntax colours and highlights of changed words.
---@param hunk acp.Hunk
---@param words acp.Words
---@return acp.Chunk[][]
function M.virtual_lines(bufnr, hunk, words)
  local shown = vim.list_slice(hunk.removed, 1, M.MAX_LINES)
  local lang = language(bufnr)
  -- If the user's query does not match the parser, show the text without colours.
  local ok, paints = pcall(syntax, shown, lang or '')
  paints = lang and ok and paints or {}
  local pad, result = padding(), {}
  for i, line in ipairs(shown) do
    result[i] = chunks(line, paints[i] or {}, words[i] or {})
    table.insert(result[i], { pad, LINE })
  end
  result[#result + 1] = more(hunk)
  return result
end

return M
