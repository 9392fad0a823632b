--- Opening of the file named under the cursor.
local M = {}

local api = vim.api

--- Return the file named under the cursor, and the line number after its name.
---@param n integer? session whose directory the name is relative to
---@return string? path
---@return integer? line
local function under_cursor(n)
  local session = n and require('acp.base.state').session(n)
  local cwd = session and session.cwd or vim.fn.getcwd()
  local line, col = api.nvim_get_current_line(), api.nvim_win_get_cursor(0)[2] + 1
  local mention = require('acp.base.text.mentions').at(line, col, cwd)
  local name = mention and mention.name or vim.fn.expand('<cfile>')
  local path = mention and mention.path or require('acp.base.paths').expand_home(name, cwd)
  local stat = name ~= '' and vim.uv.fs_stat(path)
  if not stat or stat.type ~= 'file' then return nil end
  local lines = mention and mention.lines
  return path, lines and lines.first or tonumber(line:match(vim.pesc(name) .. ':(%d+)'))
end

--- gf, gF: open the file named under the cursor in an editing window.
---@param at_line boolean whether to go to the line number after the name
---@param n integer? session of the window
function M.open(at_line, n)
  local path, line = under_cursor(n)
  if path then
    require('acp.ui.jump').to(path, at_line and line or nil, n)
  else
    require('acp.base.notify').show('error', 'no_file_here')
  end
end

return M
