--- The folders in which the pending edits and checkpoints of workspaces outlive Neovim
--- (`journal.py`): found without Python, and watched for what other Neovims do.
local M = {}

local uv = vim.uv

--- This Neovim, for others: the time, the machine and the process.
M.instance = ('%s-%s-%d'):format(
  os.date('%Y%m%d-%H%M%S'),
  (uv.os_gethostname():gsub('[^%w-]', '_')),
  vim.fn.getpid()
)

local home ---@type string|nil
local opened = {} ---@type table<string, true> roots that a host was told of
local followed = {} ---@type table<string, uv.uv_fs_event_t|false> roots that a host has opened

---@return string
local function directory()
  home = home or vim.fn.stdpath('data') .. '/acp/workspaces'
  return home
end

--- A path in 16 hexadecimal digits. `sha256()` takes 10 ms when it is first called, for a test of
--- itself. `acp_nvim/files/bytes/roots.py` does the same.
function M.digits(path)
  local first, second = 5381, 0
  for i = 1, #path do
    local byte = path:byte(i)
    first = bit.tobit(first * 33 + byte)
    second = bit.bxor(bit.tobit(second * 65599), bit.rol(byte, i % 24))
  end
  return bit.tohex(first) .. bit.tohex(second)
end

--- Whether a workspace has a file of this name.
---@param root string
---@param file 'pending'|'journal'
---@return boolean
function M.has(root, file)
  return uv.fs_stat(('%s/%s/%s'):format(directory(), M.digits(root), file)) ~= nil
end

--- Directories from one up whose workspace was not opened yet and has something to decide, or with
--- `all` anything.
---@param all? boolean
---@return string[] roots
local function above(path, all)
  local found = {}
  while true do
    local kept = M.has(path, 'pending') or all and M.has(path, 'journal')
    if kept and not opened[path] then found[#found + 1] = path end
    local parent = vim.fs.dirname(path)
    if parent == path or not parent then return found end
    path = parent
  end
end

--- The file of a buffer, symlinks resolved; nil where it has none.
---@return string|nil
local function file_of(bufnr)
  local name = vim.api.nvim_buf_get_name(bufnr)
  if name == '' or vim.bo[bufnr].buftype ~= '' or name:find('^%a[%w+.-]*://') then return nil end
  local folder, tail = vim.fs.dirname(name), vim.fs.basename(name)
  local real = uv.fs_realpath(name)
  folder = not real and uv.fs_realpath(folder)
  return real or folder and folder .. '/' .. tail or nil
end

--- Tell the host of workspaces that are not open yet.
---@param path string|nil the file that is shown first
local function open(roots, path)
  for _, root in ipairs(roots) do
    opened[root] = true
    require('acp.base.host').notify('workspace', { root = root, path = path })
  end
end

--- The workspaces with undecided edits that a buffer is in, unless they are open.
---@return string[] roots
---@return string|nil path
function M.waiting(bufnr)
  if not uv.fs_stat(directory()) then return {} end
  local path = file_of(bufnr)
  return path and above(vim.fs.dirname(path)) or {}, path
end

--- The user has entered a buffer: what Neovims have left in its workspace is shown.
function M.entered(bufnr)
  local roots, path = M.waiting(bufnr)
  open(roots, path)
end

--- A command asks: open the workspaces of the current directory and of the current buffer.
---@return boolean any is open
function M.ask()
  if uv.fs_stat(directory()) then
    local path = file_of(vim.api.nvim_get_current_buf())
    local cwd = uv.fs_realpath(vim.fn.getcwd())
    open(path and above(vim.fs.dirname(path), true) or {}, path)
    open(cwd and above(cwd, true) or {}, path)
  end
  return next(opened) ~= nil
end

--- Roots that a host has opened, for the next one.
---@return string[]
function M.roots() return require('acp.base.sorted_keys')(followed) end

--- Frame operation: tell of changes in the folder of a workspace from now on.
function M.follow(root, folder)
  opened[root] = true
  if followed[root] then return end
  local watch = uv.new_fs_event()
  local started = watch
    and watch:start(folder, {}, function(_, name)
      if name == 'journal' then
        vim.schedule(function()
          local host = require('acp.base.host')
          local leaving = vim.v.exiting ~= vim.NIL -- the host writes once more
          if host.channel() and not leaving then host.notify('journal_changed', { root = root }) end
        end)
      end
    end)
  followed[root] = started and watch or false
end

--- Texts that are given up by Neovim's end are given up by nobody: the host hears of that first.
M.watch = require('acp.base.once')(function()
  require('acp.base.autocmds').group('acp.workspaces')('VimLeavePre', function()
    local channel = require('acp.base.host').channel()
    if channel then pcall(vim.rpcnotify, channel, 'acp', 'leaving', vim.empty_dict()) end
  end)
end)

return M
