--- Files of worktrees beside the user's, in diff mode, in a new tab page.
local M = {}

local api = vim.api
local messages = require('acp.base.messages')

---@class acp.ComparedFile
---@field path string of the user's file
---@field others acp.ComparedWorktree[] the same file in worktrees

---@class acp.ComparedWorktree
---@field agent string
---@field branch string
---@field path string

--- Create a buffer with the text of a file; it is empty if there is no such regular file.
---@param path string
---@return integer
local function copy(path)
  local bufnr = api.nvim_create_buf(false, true)
  local info = vim.uv.fs_lstat(path) -- a pipe or a device would block, even behind a link
  local is_file = info and info.type == 'file'
  local text = is_file and require('acp.base.read_file')(path) or ''
  api.nvim_buf_set_lines(bufnr, 0, -1, false, vim.split((text:gsub('\n$', '')), '\n'))
  vim.bo[bufnr].filetype = vim.filetype.match({ filename = path, buf = bufnr }) or ''
  vim.bo[bufnr].bufhidden, vim.bo[bufnr].modifiable = 'wipe', false
  return bufnr
end

--- Turn on diff mode without the change of 'scrollopt' that `:diffthis` makes.
local function enable_diff(win)
  local before = vim.o.scrollopt
  api.nvim_win_call(win, function() vim.cmd.diffthis() end)
  vim.o.scrollopt = before
end

--- Set the winbar of a window. Parts that do not fit are left out, the last one first.
---@param win integer
---@param parts string[]
local function set_title(win, parts)
  local width = api.nvim_win_get_width(win) - 1
  while #parts > 1 and api.nvim_strwidth(table.concat(parts, ' · ')) > width do
    parts[#parts] = nil
  end
  local text = table.concat(parts, ' · ')
  require('acp.ui.win').set(win, 'winbar', ' ' .. require('acp.ui.win').literal(text))
end

--- Return the names of the worktrees in the titles. Agents of the same name are numbered.
---@param others acp.ComparedWorktree[]
---@return string[]
local function names(others)
  local counts, listed = {}, {}
  for i, other in ipairs(others) do
    counts[other.agent] = (counts[other.agent] or 0) + 1
    local count = counts[other.agent]
    listed[i] = count > 1 and ('%s %d'):format(other.agent, count) or other.agent
  end
  return listed
end

--- Go to the first difference in the current window.
local function go_to_difference()
  vim.fn.cursor(1, 1)
  if vim.fn.diff_hlID(1, 1) == 0 then vim.cmd('silent! normal! ]c') end
end

local show ---@type fun(tab: integer, files: acp.ComparedFile[], at: integer)

--- Map the keys in the copy of a file.
---@param bufnr integer
---@param path string of the user's file
---@param other string path of the same file in a worktree
---@param go fun(step: integer)
local function map(bufnr, path, other, go)
  local function take(first, last)
    local args = { path = path, other = other, first = first, last = last }
    require('acp.base.host').notify('race_take', args)
  end
  local function key(mode, lhs, rhs, desc)
    vim.keymap.set(mode, lhs, rhs, { buffer = bufnr, desc = 'acp: ' .. desc, nowait = true })
  end
  key('n', 'dp', function() take(vim.fn.line('.'), vim.fn.line('.')) end, 'take the hunk')
  key('x', 'dp', function()
    local first, last = vim.fn.line('v'), vim.fn.line('.')
    take(math.min(first, last), math.max(first, last))
  end, 'take the hunks')
  key('n', ']f', function() go(1) end, 'next file')
  key('n', '[f', function() go(-1) end, 'previous file')
  key('n', 'q', function() vim.cmd.tabclose() end, 'close')
end

function show(tab, files, at)
  local file = files[at]
  local wins = api.nvim_tabpage_list_wins(tab)
  for i = 2, #wins do
    api.nvim_win_close(wins[i], true)
  end
  api.nvim_set_current_win(wins[1])
  vim.cmd.diffoff()
  vim.cmd.edit({ vim.fn.fnameescape(file.path), mods = { silent = true } })
  local count = ('%d/%d '):format(at, #files)
  local title = count .. require('acp.base.paths').display(file.path)
  local function go(step)
    local to = (at - 1 + step) % #files + 1
    if to ~= at then show(tab, files, to) end
  end
  local first ---@type integer|nil
  local columns, named = {}, names(file.others)
  for i, other in ipairs(file.others) do
    local bufnr = copy(other.path)
    local last = api.nvim_tabpage_list_wins(tab)
    local win = api.nvim_open_win(bufnr, false, { split = 'right', win = last[#last] })
    first = first or win
    columns[i] = win
    vim.b[bufnr].acp_compared = other.path
    map(bufnr, file.path, other.path, go)
    enable_diff(win)
  end
  enable_diff(wins[1])
  vim.cmd.wincmd('=')
  set_title(wins[1], { title })
  local hints = vim.split(messages.part_compared, ' · ', { plain = true })
  for i, win in ipairs(columns) do
    local parts = vim.list_extend({ named[i] }, hints)
    set_title(win, vim.list_extend(parts, { file.others[i].branch }))
  end
  if first then api.nvim_set_current_win(first) end
  go_to_difference()
end

--- Frame operation: show these files in a new tab page.
---@param files acp.ComparedFile[]
function M.open(files)
  vim.cmd.tabnew()
  local empty = api.nvim_get_current_buf()
  show(api.nvim_get_current_tabpage(), files, 1)
  if #vim.fn.win_findbuf(empty) == 0 then api.nvim_buf_delete(empty, {}) end
end

return M
