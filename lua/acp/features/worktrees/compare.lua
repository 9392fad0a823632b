--- Files of worktrees beside the user's, in diff mode, in a new tab page.
local M = {}

local api = vim.api

---@class acp.ComparedFile
---@field path string of the user's file
---@field others acp.ComparedWorktree[] the same file in worktrees

---@class acp.ComparedWorktree
---@field agent string
---@field branch string
---@field path string

---@class acp.Comparison
---@field files acp.ComparedFile[]
---@field at integer the shown file
---@field first integer the first shown racer
---@field count integer number of shown racers
---@field win? integer window of the user's file
---@field wins integer[] windows of the racers' files

local comparisons = {} ---@type table<integer, acp.Comparison> by tab page

local MIN_WIDTH = 40 -- columns of a window

--- Return a buffer with the text of a file; it is empty if there is no such regular file.
---@param path string
---@param name string of the buffer
---@return integer
local function copy(path, name)
  local scratch = require('acp.ui.scratch')
  local bufnr = scratch.claim(name)
  local info = vim.uv.fs_lstat(path) -- a pipe or a device would block, even behind a link
  local is_file = info and info.type == 'file'
  local text = is_file and require('acp.base.read_file')(path) or ''
  api.nvim_buf_set_lines(bufnr, 0, -1, false, vim.split((text:gsub('\n$', '')), '\n'))
  scratch.set_options(bufnr, {
    bufhidden = 'wipe',
    modifiable = false,
    modified = false,
    swapfile = false,
    modeline = false,
  })
  scratch.set_filetype(bufnr, vim.filetype.match({ filename = path, buf = bufnr }) or '')
  require('acp.ui.keymaps').attach('race', bufnr)
  vim.b[bufnr].acp_compared = path
  return bufnr
end

--- Turn on diff mode without the change to 'scrollopt' that `:diffthis` makes.
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

--- Return the title of a racer's window, which is also the end of the buffer's name, because the
--- tabline shows only that.
---@param path string of the user's file
---@param agent string
---@return string
local function title_of(path, agent)
  return ('%s · %s'):format(vim.fs.basename(path), (agent:gsub('/', ' ')))
end

--- Return the hints at keys, the most important first.
---@param has_more boolean whether some racers are not shown
---@param is_only boolean whether there is no other file
---@return string[]
local function hints(has_more, is_only)
  local listed, words = {}, require('acp.ui.keymaps').words
  for _, labels in ipairs({
    { help = 'keys' },
    has_more and { next_racers = 'others' } or {},
    { take = 'takes' },
    is_only and {} or { next_file = 'next file' },
    { close = 'closes' },
  }) do
    local text = words('race', labels)
    if text ~= '' then listed[#listed + 1] = text end
  end
  listed[#listed + 1] = require('acp.base.messages').part_land
  return listed
end

--- Go to the first difference in the current window.
local function go_to_difference()
  vim.fn.cursor(1, 1)
  if vim.fn.diff_hlID(1, 1) == 0 then vim.cmd('silent! normal! ]c') end
end

--- Return the number of racers that fit beside the user's file.
local function room() return math.max(math.floor(vim.o.columns / MIN_WIDTH) - 1, 1) end

--- Go to the window of the user's file, which is opened again if the user has closed it. Close
--- the windows of the racers' files, and no others.
---@param tab integer
---@param shown acp.Comparison
local function reset(tab, shown)
  local function is_here(win)
    return api.nvim_win_is_valid(win) and api.nvim_win_get_tabpage(win) == tab
  end
  if not (shown.win and is_here(shown.win)) then
    local empty = api.nvim_create_buf(false, true)
    vim.bo[empty].bufhidden = 'wipe'
    shown.win = api.nvim_open_win(empty, false, { split = 'left', win = -1 })
  end
  api.nvim_set_current_win(shown.win)
  vim.cmd.diffoff()
  for _, win in ipairs(shown.wins) do
    if is_here(win) and vim.b[api.nvim_win_get_buf(win)].acp_compared then
      api.nvim_win_close(win, true)
    end
  end
  shown.wins = {}
end

--- Show the current file and racers of a comparison.
---@param tab integer
---@param shown acp.Comparison
local function show(tab, shown)
  local file = shown.files[shown.at]
  reset(tab, shown)
  require('acp.buffers.loaded').add(file.path) -- under a relative name
  vim.cmd.edit({ vim.fn.fnameescape(file.path), mods = { silent = true } })
  local named, total = names(file.others), #file.others
  local count = math.min(room(), total)
  shown.count, shown.first = count, math.min(shown.first, total - count + 1)
  local wins_of, last = {}, shown.win ---@type table<integer, integer>, integer
  for i = shown.first, shown.first + count - 1 do
    local title = title_of(file.path, named[i])
    local bufnr = copy(file.others[i].path, ('acp://race/%d.%d/%s'):format(tab, i, title))
    last = api.nvim_open_win(bufnr, false, { split = 'right', win = last })
    require('acp.ui.window.titles').set_title(last, title)
    require('acp.ui.win').set(last, 'fillchars', 'eob: ')
    wins_of[i], shown.wins[#shown.wins + 1] = last, last
    enable_diff(last)
  end
  enable_diff(shown.win)
  vim.cmd.wincmd('=')
  local at = #shown.files > 1 and ('%d/%d '):format(shown.at, #shown.files) or ''
  set_title(shown.win, { at .. require('acp.base.paths').display(file.path), 'yours' })
  for i, win in pairs(wins_of) do
    local title = total > count and ('%d/%d %s'):format(i, total, named[i]) or named[i]
    local parts = vim.list_extend({ title }, hints(total > count, #shown.files == 1))
    set_title(win, vim.list_extend(parts, { file.others[i].branch }))
  end
  api.nvim_set_current_win(wins_of[shown.first])
  go_to_difference()
end

--- Return the comparison in the current tab page.
---@return acp.Comparison|nil
---@return integer tab
local function current()
  local tab = api.nvim_get_current_tabpage()
  return comparisons[tab], tab
end

--- Show another file. The last one is followed by the first.
---@param steps integer
function M.go_to_file(steps)
  local shown, tab = current()
  local to = shown and (shown.at - 1 + steps) % #shown.files + 1
  if not shown or to == shown.at then return end
  shown.at = to
  show(tab, shown)
end

--- Show other racers of the same file. The last ones are followed by the first.
---@param steps integer
function M.go_to_racers(steps)
  local shown, tab = current()
  local total, count = shown and #shown.files[shown.at].others or 0, room()
  if not shown or shown.count == total and count >= total then return end
  local last = math.max(total - count + 1, 1)
  local to = shown.first + steps * count
  if to > last then to = shown.first == last and 1 or last end
  if to < 1 then to = shown.first == 1 and last or 1 end
  shown.first = to
  show(tab, shown)
end

---@param bufnr integer copy of a racer's file
---@param first integer 1-based
---@param last integer
local function take(bufnr, first, last)
  local shown = current()
  if not shown then return end
  local path, other = shown.files[shown.at].path, vim.b[bufnr].acp_compared
  local args = { path = path, other = other, first = first, last = last }
  require('acp.base.host').notify('race_take', args)
end

--- Take the hunk under the cursor, or the hunks of the selected lines.
---@param bufnr integer
function M.take(bufnr)
  local first, last = vim.fn.line('v'), vim.fn.line('.')
  take(bufnr, math.min(first, last), math.max(first, last))
end

--- Take all hunks of the file.
---@param bufnr integer
function M.take_file(bufnr) take(bufnr, 1, api.nvim_buf_line_count(bufnr)) end

--- Return whether a tab page shows only a comparison, and only with files of a directory.
---@param tab integer
---@param shown acp.Comparison
---@param directory string
local function shows_only(tab, shown, directory)
  for _, win in ipairs(api.nvim_tabpage_list_wins(tab)) do
    if win ~= shown.win and not vim.list_contains(shown.wins, win) then return false end
  end
  for _, file in ipairs(shown.files) do
    for _, other in ipairs(file.others) do
      if not vim.startswith(other.path, directory .. '/') then return false end
    end
  end
  return true
end

---@param tab integer
local function close(tab)
  require('acp.ui.window').when_free(function()
    if not api.nvim_tabpage_is_valid(tab) then return end
    vim.cmd.tabclose({ range = { api.nvim_tabpage_get_number(tab) }, bang = true })
  end)
end

--- Close the tab pages, except the current one, that show only files of a removed worktree beside
--- the user's.
---@param directory string
function M.forget(directory)
  for tab, shown in pairs(comparisons) do
    local is_hidden = api.nvim_tabpage_is_valid(tab) and tab ~= api.nvim_get_current_tabpage()
    if is_hidden and shows_only(tab, shown, directory) then close(tab) end
  end
end

--- Frame operation: show these files in a new tab page.
---@param files acp.ComparedFile[]
---@param has_not_landed? boolean whether the user has to merge them; show how
function M.open(files, has_not_landed)
  for tab in pairs(comparisons) do
    if not api.nvim_tabpage_is_valid(tab) then comparisons[tab] = nil end
  end
  vim.cmd.tabnew()
  local empty, tab = api.nvim_get_current_buf(), api.nvim_get_current_tabpage()
  local win = api.nvim_get_current_win()
  comparisons[tab] = { files = files, at = 1, first = 1, count = 0, win = win, wins = {} }
  show(tab, comparisons[tab])
  if #vim.fn.win_findbuf(empty) == 0 then api.nvim_buf_delete(empty, {}) end
  if not has_not_landed then return end
  local how = require('acp.ui.keymaps').words('race', { take = 'takes a hunk' })
  require('acp.base.notify').show('info', 'land_by_hand', how ~= '' and ': ' .. how or '')
end

return M
