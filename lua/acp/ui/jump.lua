--- Opening files and addresses that an agent names, at the user's request.
local M = {}

local api = vim.api

--- Return whether a file may be shown in this window: not a float, and not a preview, fixed or
--- special one.
local function is_ordinary(win)
  return not require('acp.ui.win').is_float(win)
    and vim.bo[api.nvim_win_get_buf(win)].buftype == ''
    and not vim.wo[win].previewwindow
    and not vim.wo[win].winfixbuf
end

--- Return the previous window if it is ordinary, otherwise any ordinary one of the tab page.
---@return integer? win
local function find_window()
  local previous = require('acp.ui.win').previous()
  return previous and is_ordinary(previous) and previous
    or vim.iter(api.nvim_tabpage_list_wins(0)):find(is_ordinary)
end

--- Return whether reading a file could block Neovim: a pipe or a device.
local function is_stream(path)
  local stat = vim.uv.fs_stat(path)
  return stat ~= nil and stat.type ~= 'file' and stat.type ~= 'directory'
end

--- Return the absolute path of a file that an agent names, nil if it is not a path. An absolute
--- path is required because, for example, `:edit term://{command}` runs a command.
---@param session? integer session whose directory a relative path refers to
---@return string?
function M.file(path, session)
  if path == '' or path:find('%z') then return end
  local drive = vim.fn.has('win32') == 1 and path:match('^%a:[/\\]')
  if path:sub(1, 1) ~= '/' and not drive then
    local known = session and require('acp.base.state').session(session)
    path = (known and known.cwd or vim.fn.getcwd()) .. '/' .. path
  end
  return not is_stream(path) and path or nil
end

--- Edit a file in the current window. Show an error on one line. The file may be open nevertheless,
--- if only one of the user's autocommands has failed.
---@param file string
---@return boolean edited
local function edit(file)
  require('acp.buffers.loaded').add(file) -- under a relative name
  local ok, err = pcall(vim.cmd.edit, vim.fn.fnameescape(file))
  if ok then return true end
  require('acp.base.notify').echo('error', require('acp.buffers.save').reason(err))
  return vim.fn.fnamemodify(api.nvim_buf_get_name(0), ':p') == vim.fn.fnamemodify(file, ':p')
end

--- Edit a file and go to a line, in an ordinary window or in a new split.
---@param line? integer 1-based
---@param session? integer session whose directory a relative path refers to
function M.to(path, line, session)
  local file = M.file(path, session)
  if not file then
    return require('acp.base.notify').show('warn', 'not_a_path', vim.inspect(path))
  end
  local win = find_window()
  if win then
    api.nvim_set_current_win(win)
  else
    vim.cmd('aboveleft vsplit')
    require('acp.ui.win').unfix(0)
  end
  if edit(file) and line then
    api.nvim_win_set_cursor(0, { math.max(1, math.min(line, api.nvim_buf_line_count(0))), 0 })
    vim.cmd('normal! zv')
  end
end

--- Frame operation: open an address in the browser, to which the user has agreed. If that fails,
--- show the address in an error.
function M.browse(url)
  vim.schedule(function()
    local ok, _, why = pcall(vim.ui.open, url)
    if not ok or why then require('acp.base.notify').show('error', 'could_not_open', url) end
  end)
end

return M
