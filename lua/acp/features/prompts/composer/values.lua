--- Values of the variables of a prompt, and the buffers that they come from.
local M = {}

--- Maximum number of lines of a terminal's output that a prompt carries.
local TERMINAL_LINES = 200

--- Maximum number of lines of a file that is parsed for the function around the cursor.
local MAX_LINES = 20000

---@class acp.VariableSource
---@field win integer the user's window
---@field bufnr integer shown in it
---@field path fun(path: string): string form of a path for the agent

---@param it acp.VariableSource
---@param bufnr integer
---@return string
local function name_of(it, bufnr)
  local path = require('acp.base.places').path(bufnr)
  return path ~= '' and it.path(path) or ('buffer ' .. bufnr)
end

---@param it acp.VariableSource
---@param items vim.Diagnostic[]
---@return string
local function diagnostic_lines(it, items)
  local lines = {}
  for _, item in ipairs(items) do
    local severity = vim.diagnostic.severity[item.severity]
    local where = ('%s:%d:%d'):format(name_of(it, item.bufnr), item.lnum + 1, item.col + 1)
    lines[#lines + 1] = ('%s: %s: %s'):format(where, severity, (item.message:gsub('%s+', ' ')))
  end
  return table.concat(lines, '\n')
end

--- Return lines of the user's buffer below their name and numbers.
---@param it acp.VariableSource
---@param first integer 1-based
---@param last integer 1-based, inclusive
---@param text? string in place of the whole lines
local function place_and_text(it, first, last, text)
  local lines = first == last and first or first .. '-' .. last
  text = text or table.concat(vim.api.nvim_buf_get_lines(it.bufnr, first - 1, last, false), '\n')
  return ('%s:%s\n%s'):format(name_of(it, it.bufnr), lines, text)
end

--- Parse a buffer, unless it is too long. A buffer that tree-sitter highlights is parsed already.
local function parse(bufnr)
  local ok, parser = pcall(vim.treesitter.get_parser, bufnr)
  local is_short = vim.api.nvim_buf_line_count(bufnr) <= MAX_LINES
  if ok and parser and is_short then parser:parse() end
end

---@param it acp.VariableSource
---@param items vim.quickfix.entry[]
local function entry_lines(it, items)
  local lines = {}
  for _, item in ipairs(items) do
    local where = item.bufnr > 0 and name_of(it, item.bufnr) or ''
    lines[#lines + 1] = ('%s:%d:%d: %s'):format(where, item.lnum, item.col, item.text)
  end
  return table.concat(lines, '\n')
end

---@type table<string, fun(it: acp.VariableSource): string>
local resolve = {}

function resolve.this(it)
  local at = vim.api.nvim_win_get_cursor(it.win)
  local line = vim.api.nvim_buf_get_lines(it.bufnr, at[1] - 1, at[1], false)[1] or ''
  return ('%s:%d:%d: %s'):format(name_of(it, it.bufnr), at[1], at[2] + 1, line)
end

function resolve.line(it)
  local row = vim.api.nvim_win_get_cursor(it.win)[1]
  return place_and_text(it, row, row)
end

function resolve.visible(it)
  return place_and_text(it, vim.fn.line('w0', it.win), vim.fn.line('w$', it.win))
end

function resolve.symbol(it)
  local name = vim.api.nvim_win_call(it.win, function() return vim.fn.expand('<cword>') end)
  return name ~= '' and name .. '\n' .. resolve.this(it) or ''
end

function resolve.buffer(it)
  local lines = vim.api.nvim_buf_get_lines(it.bufnr, 0, -1, false)
  return name_of(it, it.bufnr) .. '\n' .. table.concat(lines, '\n')
end

function resolve.selection(it)
  local first = vim.api.nvim_buf_get_mark(it.bufnr, '<')[1]
  local last = vim.api.nvim_buf_get_mark(it.bufnr, '>')[1]
  if first == 0 or last < first then return '' end
  local text = vim.api.nvim_buf_call(it.bufnr, function()
    local kind = vim.fn.visualmode()
    local from, to = vim.fn.getpos("'<"), vim.fn.getpos("'>")
    return kind ~= '' and table.concat(vim.fn.getregion(from, to, { type = kind }), '\n')
  end)
  return place_and_text(it, first, last, text or nil)
end

--- Return the lines of the tree-sitter node around the cursor whose type contains 'function' or
--- 'method'.
resolve['function'] = function(it)
  local at = vim.api.nvim_win_get_cursor(it.win)
  parse(it.bufnr)
  local ok, node = pcall(vim.treesitter.get_node, { bufnr = it.bufnr, pos = { at[1] - 1, at[2] } })
  while ok and node do
    if node:type():match('function') or node:type():match('method') then
      local first, _, last = node:range()
      return place_and_text(it, first + 1, last + 1)
    end
    node = node:parent()
  end
  return ''
end

function resolve.diagnostics(it) return diagnostic_lines(it, vim.diagnostic.get(it.bufnr)) end

resolve['diagnostics:workspace'] = function(it)
  local items = vim.diagnostic.get()
  return diagnostic_lines(it, items)
end

function resolve.quickfix(it) return entry_lines(it, vim.fn.getqflist()) end

function resolve.loclist(it) return entry_lines(it, vim.fn.getloclist(it.win)) end

function resolve.buffers(it)
  local lines = {}
  for _, info in ipairs(vim.fn.getbufinfo({ buflisted = 1 })) do
    local note = info.changed == 1 and ' (unsaved changes)' or ''
    lines[#lines + 1] = name_of(it, info.bufnr) .. note
  end
  return table.concat(lines, '\n')
end

--- Return the unsaved changes to each buffer as unified diffs. The host adds git's diff of the
--- files when it sends the prompt.
function resolve.diff(it)
  local diffs = {}
  for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
    local path = vim.api.nvim_buf_is_loaded(bufnr) and require('acp.base.places').path(bufnr) or ''
    if path ~= '' and vim.bo[bufnr].modified then
      local readable = require('acp.buffers.nofollow').readable(bufnr)
      local before = readable and require('acp.base.read_file')(path) or ''
      local after = table.concat(vim.api.nvim_buf_get_lines(bufnr, 0, -1, false), '\n') .. '\n'
      local diff = require('acp.base.compat').diff(before, after, { ctxlen = 3 })
      if diff ~= '' then diffs[#diffs + 1] = ('unsaved: %s\n%s'):format(it.path(path), diff) end
    end
  end
  return table.concat(diffs, '\n')
end

--- Return the terminal that was used last, except those of agents.
---@return integer|nil bufnr
local function last_terminal()
  local terminals = vim.tbl_filter(
    function(info)
      return vim.bo[info.bufnr].buftype == 'terminal' and not info.name:match('^acp://')
    end,
    vim.fn.getbufinfo({ bufloaded = 1 })
  )
  table.sort(terminals, function(first, other) return first.lastused > other.lastused end)
  return terminals[1] and terminals[1].bufnr
end

function resolve.terminal()
  local bufnr = last_terminal()
  if not bufnr then return '' end
  -- The rows of the screen below the output are empty.
  local output =
    table.concat(vim.api.nvim_buf_get_lines(bufnr, 0, -1, false), '\n'):gsub('%s+$', '')
  local lines = vim.split(output, '\n')
  return table.concat(vim.list_slice(lines, math.max(#lines - TERMINAL_LINES + 1, 1)), '\n')
end

--- Variables that the host completes when it sends the prompt, and their values until then.
local from_host = { branch = true, diff = true }
function resolve.branch() return '' end

---@param items { bufnr: integer }[]
---@return integer[]
local function buffers_of(items)
  local bufnrs = vim.tbl_map(function(item) return item.bufnr end, items)
  return vim.tbl_filter(function(bufnr) return bufnr > 0 end, bufnrs)
end

local function no_values() return {} end

--- Buffers that a variable comes from; the current buffer if it is not listed here.
---@type table<string, fun(win: integer): integer[]>
local sources = {
  branch = no_values,
  buffers = no_values,
  diff = function()
    return vim.tbl_filter(
      function(bufnr) return vim.api.nvim_buf_is_loaded(bufnr) and vim.bo[bufnr].modified end,
      vim.api.nvim_list_bufs()
    )
  end,
  ['diagnostics:workspace'] = function() return buffers_of(vim.diagnostic.get()) end,
  loclist = function(win) return buffers_of(vim.fn.getloclist(win)) end,
  quickfix = function() return buffers_of(vim.fn.getqflist()) end,
  terminal = function() return { last_terminal() } end,
}

--- Description of each variable.
---@type table<string, string>
M.about = {
  branch = 'the branch of git',
  buffer = 'the current buffer',
  buffers = 'names of listed buffers',
  diagnostics = 'diagnostics of the current buffer',
  ['diagnostics:workspace'] = 'diagnostics of all buffers',
  diff = 'git diff of the working tree',
  ['function'] = 'the function around the cursor',
  line = "the cursor's line",
  loclist = "the window's location list",
  quickfix = 'the quickfix list',
  selection = 'the last visual selection',
  symbol = 'the name under the cursor',
  terminal = 'the last output of a terminal',
  this = "the cursor's file and line",
  visible = 'the visible lines',
}

--- Return the value of a variable, '' if it has none, and whether the host completes it.
---@param name string
---@param win integer
---@param path fun(path: string): string form of a path for the agent
---@return string
---@return boolean from_host
function M.value(name, win, path)
  local it = { win = win, bufnr = vim.api.nvim_win_get_buf(win), path = path }
  return resolve[name](it), from_host[name] or false
end

--- Return the files whose text a variable contains, '' for a buffer without a file. Files of git's
--- diff are not included.
---@param name string
---@param win integer
---@return string[] paths
function M.files(name, win)
  local bufnrs = sources[name] and sources[name](win) or { vim.api.nvim_win_get_buf(win) }
  local files = {} ---@type table<string, true>
  for _, bufnr in ipairs(bufnrs) do
    files[require('acp.base.places').path(bufnr)] = true
  end
  return require('acp.base.sorted_keys')(files)
end

return M
