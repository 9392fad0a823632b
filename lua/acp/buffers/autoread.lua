--- Keeps Neovim from reading a file again by itself ('autoread') while the user may be at work by
--- line numbers in its buffer. Neovim asks by |FileChangedShell| instead.
local M = {}

local api = vim.api

local held ---@type { bufnr: integer, autoread?: boolean }|nil

local function set(bufnr, value)
  if api.nvim_buf_is_valid(bufnr) then
    api.nvim_set_option_value('autoread', value, { buf = bufnr })
  end
end

--- Let Neovim read the buffer again, as the user has it.
function M.release()
  if held then set(held.bufnr, held.autoread) end
  held = nil
end

--- The user may have come to another mode.
---@param asks fun(bufnr: integer): boolean whether somebody answers |FileChangedShell| there
function M.changed(asks)
  M.release()
  local bufnr, mode = api.nvim_get_current_buf(), api.nvim_get_mode().mode
  if asks(bufnr) and (mode:find('^[cirvVsS\22\19]') or mode:find('^no')) then
    held = { bufnr = bufnr, autoread = vim.bo[bufnr].autoread }
    set(bufnr, false)
  end
end

return M
