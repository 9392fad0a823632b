--- Files loaded for language servers without a window. Their buffers are hidden, unlisted and
--- without swap file, and are unloaded after the turn. Nothing here prompts or moves the focus.
local M = {}

local api = vim.api
local files = require('acp.buffers.loaded')

---@class acp.HiddenFile
---@field sessions table<integer, true> sessions whose turns need it
---@field known boolean an unloaded buffer of the file existed before
---@field swapfile boolean value of the option to restore if the buffer is kept
---@field changed? boolean its text was changed; the buffer is kept for its undo history

local hidden_files = {} ---@type table<integer, acp.HiddenFile> by buffer

--- Keep a buffer that the user sees or that was changed.
local function keep(bufnr)
  local file = hidden_files[bufnr]
  hidden_files[bufnr] = nil
  if file and api.nvim_buf_is_loaded(bufnr) then vim.bo[bufnr].swapfile = file.swapfile end
end

---@param real string
---@return integer|nil bufnr
---@return string|nil why it cannot be loaded
local function load(real)
  local is_known = vim.fn.bufexists(real) == 1
  local bufnr = files.add(real)
  local swapfile = vim.bo[bufnr].swapfile
  vim.bo[bufnr].swapfile = false -- else another Neovim that opens the file would show a prompt
  local save = require('acp.buffers.save')
  local ok, err = pcall(save.load, real)
  if not ok or not api.nvim_buf_is_loaded(bufnr) then
    pcall(api.nvim_buf_delete, bufnr, { force = true, unload = is_known })
    return nil, ok and 'the file does not load' or save.reason(err)
  end
  hidden_files[bufnr] = { sessions = {}, known = is_known, swapfile = swapfile }
  api.nvim_buf_attach(bufnr, false, {
    on_lines = function()
      local file = hidden_files[bufnr]
      if not file then return true end
      file.changed = true
    end,
  })
  require('acp.base.autocmds').in_buffer(bufnr, 'BufWinEnter', function() keep(bufnr) end)
  return bufnr
end

--- Return the buffer of a file, updated from disk. With `session`, load the file if needed.
---@param real string resolved path
---@param session? integer the session whose turn needs the file
---@return integer|nil bufnr
---@return string|nil why there is no buffer
function M.buffer(real, session)
  local bufnr, why = require('acp.buffers.live').buffer(real)
  if not bufnr and (why or not session) then return nil, why or 'the file is not open' end
  if not bufnr then
    if not vim.uv.fs_stat(real) then return nil, 'no such file' end
    bufnr, why = load(real)
  end
  if bufnr and session and hidden_files[bufnr] then hidden_files[bufnr].sessions[session] = true end
  return bufnr, why
end

--- Unload a buffer unless it must be kept.
---@param file acp.HiddenFile
local function release(bufnr, file)
  local options = vim.bo[bufnr]
  if file.changed then
    options.buflisted = true
    return keep(bufnr)
  end
  local is_in_use = options.modified or options.buflisted and not file.known
  if is_in_use or #vim.fn.win_findbuf(bufnr) > 0 then return keep(bufnr) end
  hidden_files[bufnr] = nil
  pcall(api.nvim_buf_delete, bufnr, { unload = file.known })
end

--- Unload the files of a session whose turn has ended.
---@param session? integer all sessions by default
function M.unload(session)
  for bufnr, file in pairs(hidden_files) do
    file.sessions[session or 0] = nil
    if not api.nvim_buf_is_loaded(bufnr) then
      hidden_files[bufnr] = nil
    elseif session == nil or next(file.sessions) == nil then
      release(bufnr, file)
    end
  end
end

return M
