--- Care for a user at work in a buffer that an agent's edit is about to change: a command that goes
--- by line numbers is let finish first, a selection keeps its text.
local M = {}

local api = vim.api
local ns = api.nvim_create_namespace('acp.user_busy')

---@class acp.Selection
---@field mark integer extmark where it was begun
---@field select boolean Select mode, where keys replace the text

--- Whether an edit has to wait. `:s///c` asks about a line and then changes the one of that number;
--- an operator that waits for its motion began in the line of a number: hunks that move it, or lie
--- in what is worked on, would have it change other text.
---@param hunks any[][] `{first, last, lines}`, rows
---@return string|nil why
function M.busy(bufnr, hunks)
  if api.nvim_get_current_buf() ~= bufnr then return nil end
  local mode = api.nvim_get_mode().mode
  if mode == 'r?' then
    return 'Neovim waits for an answer of the user'
  elseif mode:sub(1, 2) == 'no' then
    local row = api.nvim_win_get_cursor(0)[1] - 1
    for _, hunk in ipairs(hunks) do
      if hunk[1] <= row then return 'an operator of the user waits for its motion' end
    end
  end
end

--- Where the selection was begun, if there is one in the buffer. Neovim moves the cursor with the
--- text, but not this end.
---@return acp.Selection|nil
function M.selection(bufnr)
  local mode = api.nvim_get_current_buf() == bufnr and api.nvim_get_mode().mode or 'n'
  if not mode:match('^[vVsS\22\19]') then return nil end
  local at = vim.fn.getpos('v')
  local mark = api.nvim_buf_set_extmark(bufnr, ns, at[2] - 1, at[3] - 1, { strict = false })
  return { mark = mark, select = mode:match('^[sS\19]') ~= nil }
end

--- Begin the selection there again.
---@param selection acp.Selection|nil
function M.reselect(bufnr, selection)
  if not selection then return end
  local at = api.nvim_buf_get_extmark_by_id(bufnr, ns, selection.mark, {})
  api.nvim_buf_del_extmark(bufnr, ns, selection.mark)
  local now = vim.fn.getpos('v')
  if now[2] == at[1] + 1 and now[3] == at[2] + 1 then return end
  local view = vim.fn.winsaveview()
  local toggle = selection.select and '\7' or ''
  vim.cmd('noautocmd normal! ' .. toggle .. 'o')
  api.nvim_win_set_cursor(0, { at[1] + 1, at[2] })
  vim.cmd('noautocmd normal! o' .. toggle)
  vim.fn.winrestview(view)
end

return M
