--- The end of a chat, followed also where its window gets fewer rows: Neovim leaves a window where
--- the user is not as it is when its buffer has fewer lines than it has rows, however these break.
local M = {}

local api = vim.api

--- The first line with which all that follows fits into `rows`.
---@param win integer
---@param last integer
---@param rows integer
---@return integer
local function top(win, last, rows)
  local line = last
  while line > 1 do
    local above = { start_row = line - 2, end_row = last - 1 }
    if api.nvim_win_text_height(win, above).all > rows then
      break
    end
    line = line - 1
  end
  return line
end

--- Neovim looks where the end is when the cursor comes there, not when it is there.
---@param win integer
---@param last integer
local function reveal(win, last)
  if api.nvim_win_get_cursor(win)[1] == last and vim.fn.line('w$', win) < last then
    local line = top(win, last, vim.fn.getwininfo(win)[1].height)
    api.nvim_win_call(win, function()
      vim.fn.winrestview({ topline = line })
    end)
  end
end

local function on_resized()
  for _, win in ipairs(vim.v.event.windows or {}) do
    local there = api.nvim_win_is_valid(win) and win ~= api.nvim_get_current_win()
    local bufnr = there and api.nvim_win_get_buf(win)
    if bufnr and require('acp.ui.chat.buffers').number(bufnr) then
      reveal(win, api.nvim_buf_line_count(bufnr))
    end
  end
end

--- Follow the windows from now on. Idempotent.
M.watch = require('acp.base.once')(function()
  local group = api.nvim_create_augroup('acp.ending', {})
  api.nvim_create_autocmd('WinResized', { group = group, callback = on_resized })
end)

return M
