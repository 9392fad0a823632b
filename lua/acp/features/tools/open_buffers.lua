--- Description of the open files for agents.
local M = {}

local api, fn = vim.api, vim.fn

local VISUAL = { v = true, V = true, ['\22'] = true }

--- Return the user's file window: the current one, or the previous one if a window of the plugin is
--- current.
---@return integer|nil
local function user_window()
  local function shows_file(win) return vim.bo[api.nvim_win_get_buf(win)].buftype == '' end
  local current, previous = api.nvim_get_current_win(), require('acp.ui.win').previous()
  if shows_file(current) then return current end
  if previous and shows_file(previous) then return previous end
  return vim.iter(api.nvim_tabpage_list_wins(0)):find(shows_file)
end

--- Convert a position of |getpos()| to line and column, 1-based, in characters.
local function place(bufnr, at)
  local line = api.nvim_buf_get_lines(bufnr, at[2] - 1, at[2], false)[1] or ''
  local column = fn.strchars(line:sub(1, math.max(at[3] - 1, 0))) + 1
  return { line = at[2], column = column }
end

--- Return the Visual selection, from its first to its last position, inclusive.
local function selection(win)
  local mode = api.nvim_get_mode().mode
  if win ~= api.nvim_get_current_win() or not VISUAL[mode:sub(1, 1)] then return nil end
  local bufnr = api.nvim_win_get_buf(win)
  local first, last = place(bufnr, fn.getpos('v')), place(bufnr, fn.getpos('.'))
  if last.line < first.line or last.line == first.line and last.column < first.column then
    first, last = last, first
  end
  local is_linewise = mode:sub(1, 1) == 'V'
  return {
    line = first.line,
    column = is_linewise and 1 or first.column,
    end_line = last.line,
    end_column = not is_linewise and last.column or nil,
  }
end

local function buffer(bufnr, win)
  local name = api.nvim_buf_get_name(bufnr)
  local is_current = win ~= nil and api.nvim_win_get_buf(win) == bufnr
  local shown = is_current and win or fn.win_findbuf(bufnr)[1]
  local cursor = shown and api.nvim_win_get_cursor(shown)
  return {
    path = vim.uv.fs_realpath(name) or name,
    modified = vim.bo[bufnr].modified,
    current = is_current,
    cursor = cursor and place(bufnr, { 0, cursor[1], cursor[2] + 1 }) or nil,
    visible = shown and { line = fn.line('w0', shown), end_line = fn.line('w$', shown) } or nil,
    selection = is_current and selection(win) or nil,
  }
end

--- Return the listed buffers of files, each as `{ path, modified, current, cursor, visible,
--- selection }`.
function M.list()
  local win, listed = user_window(), {}
  for _, bufnr in ipairs(api.nvim_list_bufs()) do
    local options = vim.bo[bufnr]
    if options.buflisted and options.buftype == '' and api.nvim_buf_get_name(bufnr) ~= '' then
      listed[#listed + 1] = buffer(bufnr, win)
    end
  end
  return listed
end

return M
