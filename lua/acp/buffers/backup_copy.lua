--- Copies of files that Neovim is about to overwrite. With 'writebackup' Neovim restores the old
--- file itself when a write fails, unless 'backupskip' names it or there was no place for a backup.
local M = {}

local api, fn, uv = vim.api, vim.fn, vim.uv

local function is_skipped(name)
  for _, pattern in ipairs(vim.split(vim.go.backupskip, ',', { trimempty = true })) do
    local what = pattern:find('/', 1, true) and name or vim.fs.basename(name)
    if fn.match(what, fn.glob2regpat(pattern)) >= 0 then return true end
  end
  return false
end

--- Return whether Neovim may overwrite the file in place instead of renaming it ('backupcopy').
local function is_overwritten(bufnr, name, stat)
  local copy = vim.bo[bufnr].backupcopy
  copy = ',' .. (copy ~= '' and copy or vim.go.backupcopy) .. ','
  if copy:find(',yes,', 1, true) or is_skipped(name) then
    return true
  elseif copy:find(',no,', 1, true) then
    return false
  end
  local folder = vim.fs.dirname(name)
  local above, link = uv.fs_stat(folder), uv.fs_lstat(name)
  local is_owner = stat.uid == uv.getuid() and stat.gid == uv.getgid()
  return not is_owner
    or stat.nlink > 1
    or not link
    or link.type == 'link'
    or not above
    or above.gid ~= stat.gid
    or not uv.fs_access(folder, 'W')
end

---@class acp.BackupCopy state of a file before a write
---@field new boolean the file did not exist
---@field copy? string path of the copy
---@field beside? string path of Neovim's own backup, which it leaves behind after restoring it

--- Copy a file before a write if needed. Return nil and an error if that fails.
---@param stat table|nil of the file, nil if it does not exist
---@return acp.BackupCopy|nil
---@return string|nil err
function M.copy_file(bufnr, stat)
  local name = api.nvim_buf_get_name(bufnr)
  local copy = { new = stat == nil } ---@type acp.BackupCopy
  if not stat or not is_overwritten(bufnr, name, stat) then return copy end
  local beside = name .. vim.go.backupext
  copy.beside = not vim.go.backup and not uv.fs_lstat(beside) and beside or nil
  copy.copy = fn.tempname() -- in a private directory of this Neovim
  local ok, err = uv.fs_copyfile(name, copy.copy, { excl = true })
  if not ok then
    uv.fs_unlink(copy.copy)
    return nil, err
  end
  return copy
end

--- Restore the file after a failed write. If the path is no longer a regular file, leave it alone:
--- opening a pipe would block.
---@param backup acp.BackupCopy
---@return string|nil copy path of the copy if the file could not be restored
function M.restore(name, backup)
  local stat = uv.fs_stat(name)
  if stat and stat.type ~= 'file' then return backup.copy end
  if backup.new then
    uv.fs_unlink(name) -- a partial file
  end
  if backup.copy and not uv.fs_copyfile(backup.copy, name) then return backup.copy end
  M.drop(backup)
  if backup.beside then uv.fs_unlink(backup.beside) end
end

---@param backup acp.BackupCopy
function M.drop(backup)
  if backup.copy then uv.fs_unlink(backup.copy) end
end

return M
