--- Opening files and addresses that an agent names, in a window of the user's own, as they asked.
local M = {}

local api = vim.api

--- Whether a file may be shown in this window: an ordinary one that is nobody's tool.
local function ordinary(win)
  return not require('acp.ui.win').floats(win)
    and vim.bo[api.nvim_win_get_buf(win)].buftype == ''
    and not vim.wo[win].previewwindow
    and not vim.wo[win].winfixbuf
end

--- The window used before this one, else any ordinary one of the tab page.
---@return integer? win
local function candidate()
  local previous = require('acp.ui.win').previous()
  return previous and ordinary(previous) and previous
    or vim.iter(api.nvim_tabpage_list_wins(0)):find(ordinary)
end

--- Whether Neovim would wait for what comes out of it: a pipe, a device.
local function is_stream(path)
  local stat = vim.uv.fs_stat(path)
  return stat ~= nil and stat.type ~= 'file' and stat.type ~= 'directory'
end

--- The absolute path of a file that an agent names; nil where it names none. Every other name may
--- be more than a name: to edit `term://{command}` is to run the command.
---@param session? integer whose directory a relative path is below
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

--- Edit a file in the current window. An error is shown on one line: the user's autocommands may
--- fail when the file is already there.
---@param file string
---@return boolean edited
local function edit(file)
  local ok, err = pcall(vim.cmd.edit, vim.fn.fnameescape(file))
  if ok then return true end
  require('acp.base.notify').echo('error', require('acp.buffers.save').reason(err))
  return vim.fn.fnamemodify(api.nvim_buf_get_name(0), ':p') == vim.fn.fnamemodify(file, ':p')
end

--- Edit a file at a line and go there; where there is no ordinary window one is split off.
---@param line? integer 1-based
---@param session? integer whose directory a relative path is below
function M.to(path, line, session)
  local file = M.file(path, session)
  if not file then
    local said = require('acp.base.messages').not_a_path:format(vim.inspect(path))
    return require('acp.base.notify').echo('warn', said)
  end
  local win = candidate()
  if win then
    api.nvim_set_current_win(win)
  else
    vim.cmd('aboveleft vsplit')
    vim.wo.winfixbuf = false
  end
  if edit(file) and line then
    api.nvim_win_set_cursor(0, { math.max(1, math.min(line, api.nvim_buf_line_count(0))), 0 })
    vim.cmd('normal! zv')
  end
end

--- Frame operation: open an address in the browser, as the user has agreed to; where that fails it
--- is said, with the address.
function M.browse(url)
  vim.schedule(function()
    local ok, _, why = pcall(vim.ui.open, url)
    if not ok or why then
      require('acp.base.notify').echo(
        'error',
        require('acp.base.messages').could_not_open:format(url)
      )
    end
  end)
end

return M
