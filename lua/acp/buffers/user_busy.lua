--- Care for a user at work in a buffer that an agent's edit is about to change: what goes by line
--- numbers is let finish first, a selection keeps its text.
local M = {}

local api, fn = vim.api, vim.fn
local ns = api.nvim_create_namespace('acp.user_busy')

---@class acp.Selection
---@field mark integer extmark where it was begun
---@field select boolean Select mode, where keys replace the text

local in_block = false -- whether the text that is being inserted goes into a block of lines

require('acp.base.autocmds').group('acp.user_busy')(
  'ModeChanged',
  function() in_block = vim.v.event.old_mode:find('[\22\19]') ~= nil end,
  { pattern = '*:i' }
)

---@param hunks any[][]
local function moves_lines(hunks)
  return vim.iter(hunks):any(function(hunk) return hunk[2] - hunk[1] ~= #hunk[3] end)
end

--- The command line of the user that would change the buffer.
---@return string|nil
local function command_line(bufnr)
  if fn.getcmdwintype() == ':' then
    return fn.winbufnr(fn.winnr('#')) == bufnr and api.nvim_get_current_line() or nil
  end
  return api.nvim_get_current_buf() == bufnr and fn.getcmdtype() == ':' and fn.getcmdline() or nil
end

--- What an operator that is under way has to do with hunks: it goes by the number of a line.
---@param mode string
---@param hunks any[][]
local function operator(mode, hunks)
  local row = api.nvim_win_get_cursor(0)[1] - 1
  local function is_above(hunk) return hunk[1] <= row end
  if mode:find('^i') then
    return in_block and 'the user inserts text into a block of lines' or nil
  elseif mode:find('^c') or (mode:find('^no') and vim.iter(hunks):any(is_above)) then
    return 'an operator of the user waits for its motion' -- `/` moves the cursor to what it finds
  end
end

--- Why an edit has to wait until the user has finished. `:s///c` asks about a line and then changes
--- the one of that number. An operator, an insertion into a block, and a command line go by numbers
--- of lines as well: hunks above would have them change other text.
---@param hunks any[][] `{first, last, lines}`, rows
---@return string|nil why
function M.busy(bufnr, hunks)
  local line = command_line(bufnr)
  if line and moves_lines(hunks) and require('acp.buffers.numbered_command').is_one(line) then
    return 'a command line of the user names lines by number'
  end
  if api.nvim_get_current_buf() ~= bufnr then return nil end
  local mode = api.nvim_get_mode().mode
  if mode == 'r?' then return 'Neovim waits for an answer of the user' end
  return fn.state('o') ~= '' and operator(mode, hunks) or nil
end

--- Why a buffer cannot be read from its file again until the user has finished.
---@return string|nil why
function M.holds_lines(bufnr)
  local whole = { 0, api.nvim_buf_line_count(bufnr), {} }
  return M.busy(bufnr, { whole })
end

--- Where the selection was begun, if there is one in the buffer. Neovim moves the cursor with the
--- text, but not this end.
---@return acp.Selection|nil
function M.selection(bufnr)
  local mode = api.nvim_get_current_buf() == bufnr and api.nvim_get_mode().mode or 'n'
  if not mode:match('^[vVsS\22\19]') then return nil end
  local at = fn.getpos('v')
  local mark = api.nvim_buf_set_extmark(bufnr, ns, at[2] - 1, at[3] - 1, { strict = false })
  return { mark = mark, select = mode:match('^[sS\19]') ~= nil }
end

--- Begin the selection there again.
---@param selection acp.Selection|nil
function M.reselect(bufnr, selection)
  if not selection then return end
  local at = api.nvim_buf_get_extmark_by_id(bufnr, ns, selection.mark, {})
  api.nvim_buf_del_extmark(bufnr, ns, selection.mark)
  local now = fn.getpos('v')
  if now[2] == at[1] + 1 and now[3] == at[2] + 1 then return end
  local view = fn.winsaveview()
  local toggle = selection.select and '\7' or ''
  vim.cmd('noautocmd normal! ' .. toggle .. 'o')
  api.nvim_win_set_cursor(0, { at[1] + 1, at[2] })
  vim.cmd('noautocmd normal! o' .. toggle)
  fn.winrestview(view)
end

return M
