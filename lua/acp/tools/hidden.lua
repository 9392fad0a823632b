--- Files that no window shows, loaded for language servers: hidden, unlisted, without a swap file,
--- and let go after the turn for which they were loaded. Nothing here prompts or moves the focus.
local M = {}

local api = vim.api
local files = require('acp.buffers.loaded')

---@class acp.HiddenFile
---@field sessions table<integer, true> for whose turns it is loaded
---@field known boolean the buffer was there before, unloaded
---@field swapfile boolean the option, once it is shown
---@field changed? boolean its text was changed: the buffer has the way back

local held = {} ---@type table<integer, acp.HiddenFile> by buffer

--- It stays: the user sees it, or works on it.
local function keep(bufnr)
  local file = held[bufnr]
  held[bufnr] = nil
  if file and api.nvim_buf_is_loaded(bufnr) then vim.bo[bufnr].swapfile = file.swapfile end
end

---@param real string
---@return integer|nil bufnr
---@return string|nil why not
local function load(real)
  local known = vim.fn.bufexists(real) == 1
  local bufnr = files.add(real)
  local swapfile = vim.bo[bufnr].swapfile
  vim.bo[bufnr].swapfile = false -- another Neovim that opens the file is not asked about ours
  local save = require('acp.buffers.save')
  local ok, err = pcall(save.load, real)
  if not ok or not api.nvim_buf_is_loaded(bufnr) then
    pcall(api.nvim_buf_delete, bufnr, { force = true, unload = known })
    return nil, ok and 'the file does not load' or save.reason(err)
  end
  held[bufnr] = { sessions = {}, known = known, swapfile = swapfile }
  api.nvim_buf_attach(bufnr, false, {
    on_lines = function()
      local file = held[bufnr]
      if not file then return true end
      file.changed = true
    end,
  })
  require('acp.base.autocmds').in_buffer(bufnr, 'BufWinEnter', function() keep(bufnr) end)
  return bufnr
end

--- The buffer of a file, brought up to date with it; loaded where none is and a session may.
---@param real string resolved path
---@param session? integer nil: nothing is loaded
---@return integer|nil bufnr
---@return string|nil why not
function M.buffer(real, session)
  local bufnr, why = require('acp.buffers.live').buffer(real)
  if not bufnr and (why or not session) then return nil, why or 'the file is not open' end
  if not bufnr then
    local stat = vim.uv.fs_stat(real)
    if not stat then return nil, 'no such file' end
    bufnr, why = load(real)
  end
  if bufnr and session and held[bufnr] then held[bufnr].sessions[session] = true end
  return bufnr, why
end

---@param file acp.HiddenFile
local function let_go(bufnr, file)
  local options = vim.bo[bufnr]
  if file.changed then
    options.buflisted = true
    return keep(bufnr)
  end
  if options.modified or options.buflisted and not file.known then return keep(bufnr) end
  if #vim.fn.win_findbuf(bufnr) > 0 then return keep(bufnr) end
  held[bufnr] = nil
  pcall(api.nvim_buf_delete, bufnr, { unload = file.known })
end

--- The turn of a session is over.
---@param session? integer nil: those of all sessions
function M.let_go(session)
  for bufnr, file in pairs(held) do
    file.sessions[session or 0] = nil
    if not api.nvim_buf_is_loaded(bufnr) then
      held[bufnr] = nil
    elseif session == nil or next(file.sessions) == nil then
      let_go(bufnr, file)
    end
  end
end

return M
