--- Following of a chat's end in windows that shrink. Neovim does not scroll a window that is not
--- current if its buffer has fewer lines than the window has rows, even if the lines wrap.
local M = {}

local api = vim.api

--- Return the first line from which the rest of the buffer fits into `rows`.
local function first_line(win, last, rows)
  for line = last, 2, -1 do
    local above = { start_row = line - 2, end_row = last - 1 }
    if api.nvim_win_text_height(win, above).all > rows then return line end
  end
  return 1
end

--- Scroll until the last line is visible, if the cursor is on it.
local function reveal(win, last)
  if api.nvim_win_get_cursor(win)[1] == last and vim.fn.line('w$', win) < last then
    local line = first_line(win, last, vim.fn.getwininfo(win)[1].height)
    api.nvim_win_call(win, function() vim.fn.winrestview({ topline = line }) end)
  end
end

local function on_resized()
  for _, win in ipairs(vim.v.event.windows or {}) do
    local is_other = api.nvim_win_is_valid(win) and win ~= api.nvim_get_current_win()
    local bufnr = is_other and api.nvim_win_get_buf(win)
    if bufnr and require('acp.ui.chats').number(bufnr) then
      reveal(win, api.nvim_buf_line_count(bufnr))
    end
  end
end

--- Watch the windows from now on. Idempotent.
M.watch = require('acp.base.once')(
  function() require('acp.base.autocmds').group('acp.scroll_end')('WinResized', on_resized) end
)

return M
