--- Syntax colours of a text: by tree-sitter if a parser is installed, otherwise by Vim's syntax
--- files. The work is done in slices; call it within a job of `acp.base.slices`.
local M = {}

local api = vim.api
local compat = require('acp.base.compat')
local slices = require('acp.base.slices')

---@alias acp.Colours table<integer, integer[]> by line, from 1: column, end column and highlight id
--- of each span, one after the other

--- Bytes of a line that Vim's syntax colours, and maximum length in bytes of a text that is parsed
--- if Neovim cannot parse in slices.
local LONGEST, AT_ONCE = 400, 4000

--- Captures without colours.
local PLAIN = { spell = true, nospell = true, conceal = true, none = true }

--- Filetypes of language names that are neither a filetype nor a file extension.
local NAMES =
  { console = 'sh', shell = 'sh', golang = 'go', ['c++'] = 'cpp', text = '', plaintext = '' }

--- Languages whose parser or syntax file is loaded. Loading takes up to 20 ms.
local loaded = {} ---@type table<string, true>

local scratch = {} ---@type table<string, integer> buffer by filetype, so that syntax is read once

local known = {} ---@type table<string, string> filetype by name, '' if there is none

--- Return the filetype for the info string of a fence.
---@param name string
---@return string? filetype
function M.of_fence(name)
  local word = name:match('^%s*{?%.?([%w+#_-]+)')
  if not word then return end
  word = word:lower()
  if known[word] == nil then
    local is_filetype = #api.nvim_get_runtime_file(('syntax/%s.vim'):format(word), false) > 0
    known[word] = NAMES[word]
      or is_filetype and word
      or vim.filetype.match({ filename = 'x.' .. word })
      or ''
  end
  return known[word] ~= '' and known[word] or nil
end

---@param path string
---@return string? filetype
function M.of_path(path)
  return not path:find('%c') and vim.filetype.match({ filename = path }) or nil
end

---@param colours acp.Colours
local function add(colours, line, first, last, id)
  if last > first then vim.list_extend(M.row(colours, line), { first, last, id }) end
end

--- Return the colours of a line, creating an empty list if needed.
---@param colours acp.Colours
---@return integer[]
function M.row(colours, line)
  colours[line] = colours[line] or {}
  return colours[line]
end

--- Parse asynchronously if Neovim can, otherwise only a short text.
---@param parser vim.treesitter.LanguageTree
---@param text string
---@return TSTree?
local function parse_in_slices(parser, text)
  if not compat.can_parse_in_slices then
    local trees = #text <= AT_ONCE and parser:parse() or {}
    return trees[1]
  end
  local done, trees = false, nil
  parser:parse(nil, function(_, parsed)
    done, trees = true, parsed
  end)
  while not done do
    slices.rest()
  end
  return trees and trees[1]
end

--- Wait until the user is idle before a language is loaded for the first time.
local function wait_to_load(name)
  if loaded[name] then return end
  slices.wait_idle()
  loaded[name] = true
end

--- Return the tree-sitter language of a filetype if its parser is installed.
---@return string?
local function language(filetype)
  local lang = vim.treesitter.language.get_lang(filetype) or filetype
  return compat.has_parser(lang) and lang or nil
end

---@param lines string[]
---@param colours acp.Colours
local function span(colours, lines, node, id)
  local first, col, last, end_col = node:range()
  for row = first, math.min(last, #lines - 1) do
    local stop = row == last and end_col or #lines[row + 1]
    add(colours, row + 1, row == first and col or 0, stop, id)
  end
end

---@param lines string[]
---@param lang string
---@return acp.Colours?
local function by_treesitter(lines, lang)
  local text = table.concat(lines, '\n')
  wait_to_load('treesitter ' .. lang)
  local query = vim.treesitter.query.get(lang, 'highlights')
  slices.rest()
  local tree = query and parse_in_slices(vim.treesitter.get_string_parser(text, lang), text)
  if not query or not tree then return end
  local spans, ids = {}, {}
  for capture, node in query:iter_captures(tree:root(), text) do
    local name = query.captures[capture]
    if ids[capture] == nil then
      local is_drawn = not PLAIN[name] and name:sub(1, 1) ~= '_'
      ids[capture] = is_drawn and api.nvim_get_hl_id_by_name(('@%s.%s'):format(name, lang)) or false
    end
    if ids[capture] then span(spans, lines, node, ids[capture]) end
    slices.check()
  end
  return spans
end

--- Add the syntax colours of a line of the current buffer.
---@param colours acp.Colours
local function add_syntax(colours, line, length)
  local id, first = 0, 0
  for col = 1, math.min(length, LONGEST) + 1 do
    local now = col <= length and vim.fn.synID(line, col, 1) or 0
    if now ~= id then
      if id > 0 then add(colours, line, first, col - 1, id) end
      id, first = now, col - 1
    end
  end
end

---@param lines string[]
---@param filetype string
---@return acp.Colours?
local function by_syntax(lines, filetype)
  if
    not vim.g.syntax_on
    or #api.nvim_get_runtime_file(('syntax/%s.vim'):format(filetype), false) == 0
  then
    return
  end
  wait_to_load(filetype)
  local bufnr = scratch[filetype]
  if not bufnr or not api.nvim_buf_is_loaded(bufnr) then
    bufnr = api.nvim_create_buf(false, true)
    scratch[filetype] = bufnr
    vim.bo[bufnr].undolevels = -1
    vim.bo[bufnr].syntax = filetype
    slices.rest()
  end
  api.nvim_buf_set_lines(bufnr, 0, -1, false, lines)
  local spans, line = {}, 1
  while line <= #lines and api.nvim_buf_is_valid(bufnr) do
    api.nvim_buf_call(bufnr, function()
      repeat
        add_syntax(spans, line, #lines[line])
        line = line + 1
      until line > #lines or slices.is_over()
    end)
    slices.rest()
  end
  if api.nvim_buf_is_valid(bufnr) then api.nvim_buf_set_lines(bufnr, 0, -1, false, {}) end
  return spans
end

--- Return the colours of a text, nil if its language is unknown.
---@param lines string[]
---@param filetype string
---@return acp.Colours?
function M.colours(lines, filetype)
  local lang = language(filetype)
  if lang then return by_treesitter(lines, lang) end
  return by_syntax(lines, filetype)
end

return M
