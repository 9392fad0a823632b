--- Where the user is: directory, files, lines of buffers.
local M = {}

--- The directory a session would be started in: that of the current window.
---@return string absolute
function M.cwd()
  local cwd = vim.fn.getcwd()
  return vim.fn.has('win32') == 1 and vim.fs.normalize(cwd) or cwd
end

--- The same for what cannot do without: nil, and said in one line, where it is deleted.
---@return string|nil absolute
function M.place()
  local cwd = M.cwd()
  if cwd ~= '' then return cwd end
  require('acp.base.notify').echo('error', require('acp.base.messages').directory_gone)
end

--- Name of the file a buffer shows, '' when it shows none.
---@return string
function M.path(bufnr)
  local name = vim.api.nvim_buf_get_name(bufnr)
  local file = name ~= '' and vim.bo[bufnr].buftype == '' and not name:match('^%a[%w+.-]+://')
  return file and require('acp.base.paths').absolute(name) or ''
end

---@class acp.Range
---@field path string
---@field bufnr integer
---@field first integer 1-based
---@field last integer 1-based, inclusive
---@field text string
---@field filetype string

--- Lines `first` to `last` of a buffer as they are now.
---@param first integer 1-based
---@param last integer 1-based, inclusive
---@return acp.Range
function M.range(bufnr, first, last)
  local lines = vim.api.nvim_buf_get_lines(bufnr, first - 1, last, false)
  return {
    path = M.path(bufnr),
    bufnr = bufnr,
    first = first,
    last = last,
    text = table.concat(lines, '\n'),
    filetype = vim.bo[bufnr].filetype,
  }
end

--- Short name of a range, for people.
---@param range acp.Range
---@return string
function M.label(range)
  local name = range.path == '' and ('buffer ' .. range.bufnr)
    or require('acp.base.paths').shown(range.path)
  local lines = range.first == range.last and range.first or range.first .. '-' .. range.last
  return name .. ':' .. lines
end

return M
