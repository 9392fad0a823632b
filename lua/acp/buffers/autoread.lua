--- Suspension of 'autoread' for a buffer while one of the user's pending commands may refer to line
--- numbers in it. Neovim fires |FileChangedShell| instead of reading the file again.
local M = {}

local api = vim.api

local suspended ---@type { bufnr: integer, autoread?: boolean }|nil

--- Restore the user's value of 'autoread'.
function M.release()
  if suspended and api.nvim_buf_is_valid(suspended.bufnr) then
    vim.bo[suspended.bufnr].autoread = suspended.autoread
  end
  suspended = nil
end

--- Update 'autoread' after a possible change of mode.
---@param is_handled fun(bufnr: integer): boolean whether |FileChangedShell| of a buffer is handled
function M.update(is_handled)
  M.release()
  local bufnr, mode = api.nvim_get_current_buf(), api.nvim_get_mode().mode
  if is_handled(bufnr) and (mode:find('^[cirvVsS\22\19]') or mode:find('^no')) then
    suspended = { bufnr = bufnr, autoread = vim.bo[bufnr].autoread }
    vim.bo[bufnr].autoread = false
  end
end

return M
