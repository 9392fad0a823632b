--- Opening files from the chat: in a window of the user's own, by his own key.
local M = {}

local api = vim.api

--- Whether a file may be shown in this window: an ordinary one that is nobody's tool.
---@param win integer
local function ordinary(win)
  return api.nvim_win_get_config(win).relative == ''
    and vim.bo[api.nvim_win_get_buf(win)].buftype == ''
    and not vim.wo[win].previewwindow
    and not vim.wo[win].winfixbuf
end

--- The window used before this one, else any ordinary one of the tab page.
---@return integer? win
local function candidate()
  local previous = vim.fn.win_getid(vim.fn.winnr('#'))
  if previous ~= 0 and ordinary(previous) then
    return previous
  end
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    if ordinary(win) then
      return win
    end
  end
end

--- Edit a file at a line and go there; where there is no ordinary window one is split off.
---@param path string absolute
---@param line? integer 1-based
function M.to(path, line)
  local win = candidate()
  if win then
    api.nvim_set_current_win(win)
  else
    vim.cmd('aboveleft vsplit')
    vim.wo.winfixbuf = false
  end
  vim.cmd.edit(vim.fn.fnameescape(path))
  if line then
    api.nvim_win_set_cursor(0, { math.max(1, math.min(line, api.nvim_buf_line_count(0))), 0 })
    vim.cmd('normal! zv')
  end
end

return M
