--- Whether a path leads where it led when the host resolved it. No part of such a path is a link;
--- an agent may swap one for a link later, to have us read or write something else.
---
--- One race is left: Neovim opens files by their names and follows links, so what is swapped
--- between our last look and its `open()` is not seen before it is over. We look before a save or a
--- reload, after the BufWritePre autocommands, and once more after it: what came from elsewhere is
--- taken out again.
local M = {}

local api, uv = vim.api, vim.uv

--- Why a resolved path leads elsewhere now; nil when it does not.
---@param real string
---@return string|nil
function M.why(real)
  if uv.fs_realpath(real) == real then return nil end
  local at = ''
  for part in real:gmatch('[^/]+') do
    at = at .. '/' .. part
    local stat = uv.fs_lstat(at)
    if not stat then
      return nil -- not there, so nothing is below it
    elseif stat.type == 'link' then
      local _, _, code = uv.fs_stat(at)
      if code == 'ELOOP' then return 'its symbolic links lead in a circle' end
      local what = at == real and 'it' or 'the directory ' .. part
      return what .. ' has become a symbolic link'
    end
  end
end

--- Why the file at a resolved path cannot be shown: the same, or it is no file, and Neovim would
--- wait for the other end of a pipe. nil when it can, also where nothing is.
---@param real string
---@return string|nil
function M.barred(real)
  local stat = uv.fs_stat(real)
  local other = stat and stat.type ~= 'file'
  return M.why(real) or (other and ('it is a %s now'):format(stat.type) or nil)
end

local function is_same(name, real)
  local one, other = uv.fs_stat(name), uv.fs_stat(real)
  if one and other then return one.ino == other.ino and one.dev == other.dev end
  return not one and not other and vim.fn.resolve(name) == real
end

--- Why a buffer's name leads to another file than a resolved path; nil when it does not.
---@param real string
---@return string|nil
function M.name_moved(bufnr, real)
  local name = api.nvim_buf_get_name(bufnr)
  if name ~= real and not is_same(name, real) then
    return ("its buffer's name %s leads elsewhere now"):format(vim.fs.basename(name))
  end
end

--- The file of a buffer as the host resolved it; of a buffer that it does not know as it is now.
---@return string
function M.real(bufnr)
  local name = api.nvim_buf_get_name(bufnr)
  return require('acp.buffers.watch').path(bufnr) or uv.fs_realpath(name) or name
end

--- Both for a buffer whose file the host resolved to `real`: its name may be a link to that.
---@param real string
---@return string|nil
function M.moved(bufnr, real) return M.why(real) or M.name_moved(bufnr, real) end

--- Whether the file of a buffer can be read by its name: it is a file, and no part of its name has
--- become a link since the buffer was made (Neovim resolves directories in names). Where the name
--- itself may have been one is known if the host knows the buffer.
function M.readable(bufnr)
  local name = api.nvim_buf_get_name(bufnr)
  local real = require('acp.buffers.watch').path(bufnr)
  local stat = uv.fs_stat(name)
  return stat ~= nil and stat.type == 'file' and not M.moved(bufnr, real or name)
end

return M
