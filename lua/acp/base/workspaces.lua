--- Folders that store the pending edits and checkpoints of workspaces
--- (`acp_nvim/files/journal/journal.py`). They are found without Python and watched for changes by
--- other Neovim instances.
local M = {}

local uv = vim.uv

--- Unique name of this Neovim: time, machine and process.
M.instance = ('%s-%s-%d'):format(
  os.date('%Y%m%d-%H%M%S'),
  (uv.os_gethostname():gsub('[^%w-]', '_')),
  vim.fn.getpid()
)

local home ---@type string|nil
local opened = {} ---@type table<string, true> roots that were sent to a host
local followed = {} ---@type table<string, uv.uv_fs_event_t|false> roots that a host has opened

---@return string
local function directory()
  home = home or vim.fn.stdpath('data') .. '/acp/workspaces'
  return home
end

--- Return a hash of a path in 16 hexadecimal digits. `sha256()` is not used because its first call
--- runs a self-test of 10 ms. `acp_nvim/files/bytes/roots.py` computes the same hash.
function M.digits(path)
  local first, second = 5381, 0
  for i = 1, #path do
    local byte = path:byte(i)
    first = bit.tobit(first * 33 + byte)
    second = bit.bxor(bit.tobit(second * 65599), bit.rol(byte, i % 24))
  end
  return bit.tohex(first) .. bit.tohex(second)
end

--- Return whether a workspace has a file of this name.
---@param root string
---@param file 'pending'|'journal'
---@return boolean
function M.has(root, file)
  return uv.fs_stat(('%s/%s/%s'):format(directory(), M.digits(root), file)) ~= nil
end

--- Return the directories from `path` upwards whose workspace is not open yet and has pending
--- edits.
---@param all? boolean include workspaces that have only a journal
---@return string[] roots
local function workspaces_above(path, all)
  local roots = {}
  while true do
    local has_data = M.has(path, 'pending') or all and M.has(path, 'journal')
    if has_data and not opened[path] then roots[#roots + 1] = path end
    local parent = vim.fs.dirname(path)
    if parent == path or not parent then return roots end
    path = parent
  end
end

--- Return the file of a buffer with symlinks resolved, or nil if it has none.
---@return string|nil
local function file_of(bufnr)
  local name = vim.api.nvim_buf_get_name(bufnr)
  if name == '' or vim.bo[bufnr].buftype ~= '' or name:find('^%a[%w+.-]*://') then return nil end
  local folder, tail = vim.fs.dirname(name), vim.fs.basename(name)
  local real = uv.fs_realpath(name)
  folder = not real and uv.fs_realpath(folder)
  return real or folder and folder .. '/' .. tail or nil
end

--- Ask the host to open workspaces.
---@param path string|nil the file to show first
local function open(roots, path)
  for _, root in ipairs(roots) do
    opened[root] = true
    require('acp.base.host').notify('workspace', { root = root, path = path })
  end
end

--- Return the workspaces of a buffer that have pending edits and are not open yet.
---@return string[] roots
---@return string|nil path
function M.waiting(bufnr)
  if not uv.fs_stat(directory()) then return {} end
  local path = file_of(bufnr)
  return path and workspaces_above(vim.fs.dirname(path)) or {}, path
end

--- Open the workspaces of a buffer that the user has entered, to show earlier pending edits.
function M.on_enter(bufnr)
  local roots, path = M.waiting(bufnr)
  open(roots, path)
end

--- Open the workspaces of the current directory and buffer, for a command.
---@return boolean any is open
function M.ask()
  if uv.fs_stat(directory()) then
    local path = file_of(vim.api.nvim_get_current_buf())
    local cwd = uv.fs_realpath(vim.fn.getcwd())
    open(path and workspaces_above(vim.fs.dirname(path), true) or {}, path)
    open(cwd and workspaces_above(cwd, true) or {}, path)
  end
  return next(opened) ~= nil
end

--- Return the roots that a host has opened, for the next host.
---@return string[]
function M.roots() return require('acp.base.sorted_keys')(followed) end

--- Frame operation: watch the folder of a workspace and report changes to the host.
function M.follow(root, folder)
  opened[root] = true
  if followed[root] then return end
  local watch = uv.new_fs_event()
  local started = watch
    and watch:start(folder, {}, function(_, name)
      if name == 'journal' then
        vim.schedule(function()
          local host = require('acp.base.host')
          local is_leaving = vim.v.exiting ~= vim.NIL -- the host writes once more
          if host.channel() and not is_leaving then
            host.notify('journal_changed', { root = root })
          end
        end)
      end
    end)
  followed[root] = started and watch or false
end

--- Notify the host that Neovim is exiting, so that it does not treat the unsaved text of closing
--- buffers as discarded by the user.
M.watch = require('acp.base.once')(function()
  require('acp.base.autocmds').group('acp.workspaces')('VimLeavePre', function()
    local channel = require('acp.base.host').channel()
    if channel then pcall(vim.rpcnotify, channel, 'acp', 'leaving', vim.empty_dict()) end
  end)
end)

return M
