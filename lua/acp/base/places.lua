--- Current directory, and files and lines of buffers.
local M = {}

--- Return the directory for a new session: the current window's, or '' if it was deleted.
---@return string absolute
function M.cwd()
  local cwd = vim.fn.getcwd()
  return vim.fn.has('win32') == 1 and vim.fs.normalize(cwd) or cwd
end

--- Return the directory for a new session. If it was deleted, show an error and return nil.
---@return string|nil absolute
function M.cwd_or_error()
  local cwd = M.cwd()
  if cwd ~= '' then return cwd end
  require('acp.base.notify').show('error', 'directory_gone')
end

--- Return the absolute path of a buffer's file, '' if it has none.
---@return string
function M.path(bufnr)
  local name = vim.api.nvim_buf_get_name(bufnr)
  local file = name ~= '' and vim.bo[bufnr].buftype == '' and not name:match('^%a[%w+.-]+://')
  return file and require('acp.base.paths').absolute(name) or ''
end

--- Return the path of a buffer's file with links resolved, nil if there is no such file.
---@return string|nil
function M.real_path(bufnr)
  local name = vim.api.nvim_buf_get_name(bufnr)
  return name ~= '' and vim.bo[bufnr].buftype == '' and vim.uv.fs_realpath(name) or nil
end

--- Return a function that writes paths for the agent of a session: relative to the session's
--- directory, or absolute if they are not below it or if it is not the current directory.
---@param n? integer the current session by default
---@return fun(path: string): string
function M.for_agent(n)
  local session, cwd = require('acp.base.state').session(n), M.cwd()
  local is_here = cwd ~= '' and (not session or not session.cwd or session.cwd == cwd)
  local paths, above = require('acp.base.paths'), cwd:gsub('/+$', '') .. '/'
  return function(path)
    local is_below = is_here and vim.startswith(path, above)
    return paths.on_one_line(is_below and path:sub(#above + 1) or path)
  end
end

---@class acp.Range
---@field path string
---@field bufnr integer
---@field first integer 1-based
---@field last integer 1-based, inclusive
---@field text string
---@field filetype string

--- Return lines `first` to `last` of a buffer with their current text.
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

--- Return the short name of a range that is shown to the user.
---@param range acp.Range
---@return string
function M.label(range)
  local name = range.path == '' and ('buffer ' .. range.bufnr)
    or require('acp.base.paths').display(range.path)
  local lines = range.first == range.last and range.first or range.first .. '-' .. range.last
  return name .. ':' .. lines
end

return M
