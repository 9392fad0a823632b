--- Helpers for windows: floats and splits, options of one window, borders.
local M = {}

local api = vim.api

---@return boolean
function M.floats(win) return api.nvim_win_get_config(win).relative ~= '' end

--- How wide the text of a window is.
---@return integer cells
function M.text_columns(win)
  local info = vim.fn.getwininfo(win)[1]
  return info.width - info.textoff
end

--- The windows of a tab page that are no floats.
---@param tab integer
---@return integer[]
function M.splits(tab)
  return vim.tbl_filter(function(win) return not M.floats(win) end, api.nvim_tabpage_list_wins(tab))
end

--- Set an option for a window alone.
---@param value any
function M.set(win, name, value)
  api.nvim_set_option_value(name, value, { scope = 'local', win = win })
end

--- The window that was the current one before.
---@return integer|nil
function M.previous()
  local win = vim.fn.win_getid(vim.fn.winnr('#'))
  return win ~= 0 and win or nil
end

--- Where the user is: to be compared with where they are later.
---@return { win: integer, buf: integer }
function M.place() return { win = api.nvim_get_current_win(), buf = api.nvim_get_current_buf() } end

--- The border of our floats: the user's 'winborder' where Neovim has it, else rounded.
---@return string
function M.border()
  local ok, border = pcall(function() return vim.o.winborder end)
  return ok and border ~= '' and border or 'rounded'
end

--- A text as 'winbar' and 'statusline' have it: a `%` is one.
---@return string
function M.literal(text) return (text:gsub('%%', '%%%%')) end

return M
