--- Display of removed lines above line 1. Neovim draws virtual lines there only if the window's
--- `topfill` (|winsaveview()|) allows it. A window that jumps to the top of its buffer gets the
--- full `topfill`; one that scrolls there line by line keeps its own.
local M = {}

local ns = vim.api.nvim_create_namespace('acp.hunks')

--- Return the number of virtual lines above line 1.
local function count_lines_above(bufnr)
  local marks = vim.api.nvim_buf_get_extmarks(bufnr, ns, 0, { 0, 0 }, { details = true })
  for _, mark in ipairs(marks) do
    local details = mark[4]
    if details.virt_lines and details.virt_lines_above then return #details.virt_lines end
  end
  return 0
end

local function reveal_lines(win, lines)
  vim.api.nvim_win_call(win, function()
    local view = vim.fn.winsaveview()
    local most = math.max(vim.api.nvim_win_get_height(win) - view.lnum, 0)
    if view.topline == 1 and view.topfill < math.min(lines, most) then
      vim.fn.winrestview({ topline = 1, topfill = math.min(lines, most) })
    end
  end)
end

--- Show the virtual lines in every window that is at the top of the buffer.
function M.reveal(bufnr)
  local lines = count_lines_above(bufnr)
  if lines > 0 then
    for _, win in ipairs(vim.fn.win_findbuf(bufnr)) do
      reveal_lines(win, lines)
    end
  end
end

--- Show the virtual lines in windows that have just jumped to line 1.
local function on_scroll()
  for id, change in pairs(vim.v.event) do
    local win = tonumber(id)
    if win and vim.api.nvim_win_is_valid(win) and change.topline < 0 and change.topfill <= 0 then
      local lines = count_lines_above(vim.api.nvim_win_get_buf(win))
      if lines > 0 then reveal_lines(win, lines) end
    end
  end
end

function M.watch()
  local on = require('acp.base.autocmds').group('acp.features.review.top')
  on('WinScrolled', on_scroll)
  on('BufWinEnter', function(args) M.reveal(args.buf) end)
end

return M
