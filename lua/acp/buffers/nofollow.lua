--- Checks that a path still leads to the file to which the host resolved it. A resolved path has no
--- link; an agent may replace a part of it with a link later, so that the plugin reads or writes
--- another file.
---
--- One race remains. Neovim opens files by name and follows links, so a swap between the last check
--- and Neovim's `open()` is noticed only afterwards. The checks run before a save or reload, after
--- the BufWritePre autocommands, and again after the operation. Text that was read from another
--- file is then removed.
local M = {}

local api, uv = vim.api, vim.uv

--- Return why a resolved path leads elsewhere now, or nil if it does not.
---@param real string
---@return string|nil
function M.why_elsewhere(real)
  if uv.fs_realpath(real) == real then return nil end
  local at = ''
  for part in real:gmatch('[^/]+') do
    at = at .. '/' .. part
    local stat = uv.fs_lstat(at)
    if not stat then
      return nil -- does not exist, so nothing below it can be a link
    elseif stat.type == 'link' then
      local _, _, code = uv.fs_stat(at)
      if code == 'ELOOP' then return 'its symbolic links lead in a circle' end
      local what = at == real and 'it' or 'the directory ' .. part
      return what .. ' has become a symbolic link'
    end
  end
end

--- Return why the file at a resolved path cannot be shown: the path leads elsewhere, or it is not a
--- regular file (Neovim would block on a pipe). Return nil if it can be shown or does not exist.
---@param real string
---@return string|nil
function M.why_not_shown(real)
  local stat = uv.fs_stat(real)
  local is_other = stat and stat.type ~= 'file'
  return M.why_elsewhere(real) or (is_other and ('it is a %s now'):format(stat.type) or nil)
end

local function is_same(name, real)
  local listed, other = uv.fs_stat(name), uv.fs_stat(real)
  if listed and other then return listed.ino == other.ino and listed.dev == other.dev end
  return not listed and not other and vim.fn.resolve(name) == real
end

--- Return why Neovim would open another file by the name of a buffer, or nil if it would not. It
--- opens files below its working directory by relative names, also after that directory was
--- renamed.
---@return string|nil
function M.why_directory_moved(bufnr)
  local name, relative = api.nvim_buf_get_name(bufnr), vim.fn.bufname(bufnr)
  if name == relative or not vim.endswith(name, '/' .. relative) then return end
  local directory = name:sub(1, -#relative - 2)
  if directory ~= '' and not is_same('.', directory) then
    return ("Neovim's working directory %s was renamed or removed"):format(directory)
  end
end

--- Return why a buffer's name leads to another file than a resolved path, or nil if it does not.
---@param real string
---@return string|nil
function M.why_name_moved(bufnr, real)
  local name = api.nvim_buf_get_name(bufnr)
  if name ~= real and not is_same(name, real) then
    return ("its buffer's name %s no longer leads to the file"):format(vim.fs.basename(name))
  end
end

--- Return the path of a buffer's file as the host resolved it, or as it resolves now if the host
--- does not know the buffer.
---@return string
function M.real(bufnr)
  local name = api.nvim_buf_get_name(bufnr)
  return require('acp.buffers.watch').path(bufnr) or uv.fs_realpath(name) or name
end

--- Return why Neovim would open another file for a buffer than `real`, to which the host resolved
--- its path. The buffer's name may be a link to `real`.
---@param real string
---@return string|nil
function M.why_moved(bufnr, real)
  return M.why_elsewhere(real) or M.why_name_moved(bufnr, real) or M.why_directory_moved(bufnr)
end

--- Return whether the file of a buffer can be read by its name. It must be a regular file, and no
--- part of the name may have become a link since the buffer was created (Neovim resolves
--- directories in names). The last part may have been a link before; this is known only if the host
--- knows the buffer.
function M.readable(bufnr)
  local name = api.nvim_buf_get_name(bufnr)
  local real = require('acp.buffers.watch').path(bufnr)
  local stat = uv.fs_stat(name)
  return stat ~= nil and stat.type == 'file' and not M.why_moved(bufnr, real or name)
end

return M
