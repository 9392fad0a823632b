--- Files in the lists of other plugins and of Neovim: file managers, netrw, the quickfix list.
local M = {}

--- Return the items of lines `first` to `last` of the current buffer.
---@param of fun(line: integer): string|acp.AttachItem|nil
---@return (string|acp.AttachItem)[]
local function of_lines(first, last, of)
  local items = {}
  for line = first, last do
    items[#items + 1] = of(line)
  end
  return items
end

--- Run `fn` with the cursor on each line. Return its results. A line may have several files, so
--- the cursor is not moved for a single line.
local function at_lines(first, last, fn)
  if first == last then return { fn() } end
  local view = vim.fn.winsaveview()
  local items = of_lines(first, last, function(line)
    vim.api.nvim_win_set_cursor(0, { line, 0 })
    return fn()
  end)
  vim.fn.winrestview(view)
  return items
end

--- Functions by 'filetype' of a list. Each returns the marked files, or those of the lines `first`
--- to `last`.
---@type table<string, fun(first: integer, last: integer): (string|acp.AttachItem)[]>
local lists = {}

function lists.qf(first, last)
  local info = vim.fn.getwininfo(vim.api.nvim_get_current_win())[1]
  local entries = info.loclist == 1 and vim.fn.getloclist(0) or vim.fn.getqflist()
  return of_lines(first, last, function(line)
    local entry = entries[line] or { bufnr = 0 }
    local path = entry.bufnr > 0 and require('acp.base.places').path(entry.bufnr) or ''
    if path == '' then return nil end
    if entry.lnum == 0 then return path end
    return { path = path, first = entry.lnum, last = math.max(entry.end_lnum, entry.lnum) }
  end)
end

function lists.oil(first, last)
  local oil = require('oil')
  local folder = oil.get_current_dir(0)
  return of_lines(first, last, function(line)
    local entry = oil.get_entry_on_line(0, line)
    local is_file = folder and entry and entry.name ~= '..'
    return is_file and vim.fs.joinpath(folder, entry.name) or nil
  end)
end

function lists.minifiles(first, last)
  return of_lines(first, last, function(line)
    local entry = require('mini.files').get_fs_entry(0, line)
    return entry and entry.path
  end)
end

--- Return the windows of this tab page that show the current buffer.
---@return integer[]
local function windows_of_buffer()
  local bufnr = vim.api.nvim_get_current_buf()
  return vim.tbl_filter(
    function(win) return vim.api.nvim_win_get_buf(win) == bufnr end,
    vim.api.nvim_tabpage_list_wins(0)
  )
end

function lists.NvimTree(first, last)
  local api = require('nvim-tree.api')
  local function path(node)
    while node and node.group_next do -- folders that are drawn as one
      node = node.group_next
    end
    return node and node.absolute_path
  end
  local marked = vim.tbl_map(path, api.marks.list())
  table.sort(marked) -- their own order varies
  if marked[1] then return marked end
  -- The plugin reads the cursor of one of the windows, which may not be the current one.
  local windows = windows_of_buffer()
  local views = vim.tbl_map(
    function(win) return vim.api.nvim_win_call(win, vim.fn.winsaveview) end,
    windows
  )
  local items = of_lines(first, last, function(line)
    for _, win in ipairs(windows) do
      vim.api.nvim_win_set_cursor(win, { line, 0 })
    end
    return path(api.tree.get_node_under_cursor())
  end)
  for i, win in ipairs(windows) do
    vim.api.nvim_win_call(win, function() vim.fn.winrestview(views[i]) end)
  end
  return items
end

lists['neo-tree'] = function(first, last)
  local state = require('neo-tree.sources.manager').get_state_for_window() or {}
  return of_lines(first, last, function(line)
    local node = state.tree and state.tree:get_node(line)
    return node and node.path
  end)
end

--- Handle pickers and the explorer of snacks.nvim.
function lists.snacks_picker_list(first, last)
  local bufnr, pickers = vim.api.nvim_get_current_buf(), require('snacks.picker')
  local picker = vim
    .iter(pickers.get())
    :find(function(known) return known.list.win.buf == bufnr end)
  if not picker then return {} end
  local items = picker:selected()
  if not items[1] then
    items = of_lines(
      first,
      last,
      function(line) return picker.list:get(picker.list:row2idx(line)) end
    )
  end
  return vim
    .iter(items)
    :map(function(item)
      local is_buffer = item.flags ~= nil -- its line is that of the cursor
      local path, line = pickers.util.path(item), not is_buffer and item.pos and item.pos[1]
      return path and { path = path, first = line ~= 0 and line or nil }
    end)
    :totable()
end

function lists.netrw(first, last)
  local marked = vim.fn['netrw#Expose']('netrwmarkfilelist')
  if type(marked) == 'table' and marked[1] then return marked end
  local folder = vim.b.netrw_curdir
  return at_lines(first, last, function()
    local name = vim.fn['netrw#Call']('NetrwGetWord')
    if name == '' then return nil end
    if vim.w.netrw_liststyle == 3 then
      folder = vim.fn['netrw#Call']('NetrwTreePath', vim.w.netrw_treetop)
      if name:match('/$') then return folder end
    end
    return vim.fs.joinpath(folder, (name:gsub('[@*|=/]$', '')))
  end)
end

--- Return the marked files of the current buffer, or those of lines `first` to `last`; nil if it is
--- no list of files.
---@param first integer 1-based line
---@param last integer
---@return (string|acp.AttachItem)[]|nil
function M.selected_items(first, last)
  local list = lists[vim.bo.filetype]
  return list and list(first, last)
end

return M
