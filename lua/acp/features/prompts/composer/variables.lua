--- Variables in a prompt, `{name}` or `@{name}`: editor context, resolved when the prompt is sent.
--- The prompt's text is never changed. Each variable is sent as a separate text.
local M = {}

---@class acp.Variable
---@field name string
---@field text string

--- Return the window that the user works in: the current one, or the previous one if the current
--- one is an acp window.
---@return integer winid
local function work_window()
  local win = vim.api.nvim_get_current_win()
  if vim.w[win].acp then
    local last = require('acp.ui.win').previous()
    win = last and not vim.w[last].acp and last or win
  end
  return win
end

local function name_of(bufnr)
  local path = require('acp.base.places').path(bufnr)
  return path ~= '' and require('acp.base.paths').spelled(path) or ('buffer ' .. bufnr)
end

---@param item vim.Diagnostic
local function diagnostic_line(item)
  local severity = vim.diagnostic.severity[item.severity]
  local where = ('%s:%d:%d'):format(name_of(item.bufnr), item.lnum + 1, item.col + 1)
  return ('%s: %s: %s'):format(where, severity, (item.message:gsub('%s+', ' ')))
end

--- Return the text of the tree-sitter node around a position whose type contains 'function' or
--- 'method'.
---@param row integer 0-based
local function enclosing_function(bufnr, row, col)
  local ok, node = pcall(vim.treesitter.get_node, { bufnr = bufnr, pos = { row, col } })
  while ok and node do
    if node:type():match('function') or node:type():match('method') then
      local first, _, last = node:range()
      return require('acp.base.places').range(bufnr, first + 1, last + 1).text
    end
    node = node:parent()
  end
end

---@type table<string, fun(win: integer, bufnr: integer): string>
local resolve = {}

function resolve.this(win, bufnr)
  local at = vim.api.nvim_win_get_cursor(win)
  local line = vim.api.nvim_buf_get_lines(bufnr, at[1] - 1, at[1], false)[1] or ''
  return ('%s:%d:%d: %s'):format(name_of(bufnr), at[1], at[2] + 1, line)
end

function resolve.buffer(_, bufnr)
  local lines = vim.api.nvim_buf_get_lines(bufnr, 0, -1, false)
  return name_of(bufnr) .. '\n' .. table.concat(lines, '\n')
end

function resolve.selection(_, bufnr)
  local first = vim.api.nvim_buf_get_mark(bufnr, '<')[1]
  local last = vim.api.nvim_buf_get_mark(bufnr, '>')[1]
  if first == 0 or last < first then return '' end
  local places = require('acp.base.places')
  local range = places.range(bufnr, first, last)
  local text = vim.api.nvim_buf_call(bufnr, function()
    local kind = vim.fn.visualmode()
    local from, to = vim.fn.getpos("'<"), vim.fn.getpos("'>")
    return kind ~= '' and table.concat(vim.fn.getregion(from, to, { type = kind }), '\n')
  end)
  return places.label(range) .. '\n' .. (text or range.text)
end

resolve['function'] = function(win, bufnr)
  local at = vim.api.nvim_win_get_cursor(win)
  return enclosing_function(bufnr, at[1] - 1, at[2]) or ''
end

function resolve.diagnostics(_, bufnr)
  return table.concat(vim.tbl_map(diagnostic_line, vim.diagnostic.get(bufnr)), '\n')
end

function resolve.quickfix()
  local lines = {}
  for _, item in ipairs(vim.fn.getqflist()) do
    local where = item.bufnr > 0 and name_of(item.bufnr) or ''
    lines[#lines + 1] = ('%s:%d:%d: %s'):format(where, item.lnum, item.col, item.text)
  end
  return table.concat(lines, '\n')
end

function resolve.buffers()
  local unsaved = { [1] = ' (unsaved changes)' }
  local lines = vim.tbl_map(
    function(info) return name_of(info.bufnr) .. (unsaved[info.changed] or '') end,
    vim.fn.getbufinfo({ buflisted = 1 })
  )
  return table.concat(lines, '\n')
end

--- Return the unsaved changes of each buffer as unified diffs. The host adds git's diff of the
--- files when it sends the prompt.
function resolve.diff()
  local found = {}
  for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
    local path = vim.api.nvim_buf_is_loaded(bufnr) and require('acp.base.places').path(bufnr) or ''
    if path ~= '' and vim.bo[bufnr].modified then
      local readable = require('acp.buffers.nofollow').readable(bufnr)
      local before = readable and require('acp.base.read_file')(path) or ''
      local after = table.concat(vim.api.nvim_buf_get_lines(bufnr, 0, -1, false), '\n') .. '\n'
      local diff = require('acp.base.compat').diff(before, after, { ctxlen = 3 })
      if diff ~= '' then found[#found + 1] = ('unsaved: %s\n%s'):format(name_of(bufnr), diff) end
    end
  end
  return table.concat(found, '\n')
end

--- Variables that the host completes.
local from_host = { diff = true }

--- Buffers that a variable is made of; the current buffer if it is not listed here.
---@type table<string, fun(bufnr: integer): integer[]>
local sources = {
  buffers = function() return {} end,
  diff = function()
    return vim.tbl_filter(
      function(bufnr) return vim.api.nvim_buf_is_loaded(bufnr) and vim.bo[bufnr].modified end,
      vim.api.nvim_list_bufs()
    )
  end,
  quickfix = function()
    local bufnrs = vim.tbl_map(function(item) return item.bufnr end, vim.fn.getqflist())
    return vim.tbl_filter(function(bufnr) return bufnr > 0 end, bufnrs)
  end,
}

--- Return the files whose text a variable contains, '' for a buffer without a file. Files of git's
--- diff are not included.
---@param name string
---@return string[] paths
function M.files(name)
  local bufnr = vim.api.nvim_win_get_buf(work_window())
  local found = {} ---@type table<string, true>
  for _, one in ipairs((sources[name] or function() return { bufnr } end)(bufnr)) do
    found[require('acp.base.places').path(one)] = true
  end
  return require('acp.base.sorted_keys')(found)
end

--- Description of each variable.
---@type table<string, string>
M.about = {
  this = "the cursor's file and line",
  selection = 'the last visual selection',
  buffer = 'the current buffer',
  diagnostics = 'diagnostics of the current buffer',
  quickfix = 'the quickfix list',
  diff = 'git diff of the working tree',
  ['function'] = 'the function around the cursor',
  buffers = 'names of listed buffers',
}

--- Return the names of all variables, sorted.
---@return string[]
function M.names() return require('acp.base.sorted_keys')(resolve) end

--- Return the variables in a text, each once and in the text's order, without empty ones.
---@return acp.Variable[]
function M.used(text)
  local found, seen = {}, {}
  local win ---@type integer|nil
  local masked = text:gsub('\\[%p%s]', '\0\0') -- `@\{this}` is a file name
  for name in masked:gmatch('{(%l+)}') do
    if resolve[name] and not seen[name] then
      seen[name] = true
      win = win or work_window()
      local value = resolve[name](win, vim.api.nvim_win_get_buf(win))
      if value ~= '' or from_host[name] then found[#found + 1] = { name = name, text = value } end
    end
  end
  return found
end

return M
