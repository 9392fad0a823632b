--- Detection of the user's unfinished commands in a buffer. An agent's edit waits if it would move
--- or change the lines that such a command refers to.
local M = {}

local api, fn = vim.api, vim.fn

local SELECTION = '^[vVsS\22\19]'
local COMPLETION = '^[iR]v?c'

local is_in_block = false -- whether the current insertion goes into a visual block
local is_in_search = false -- whether the current command line was started from a selection

local on = require('acp.base.autocmds').group('acp.user_busy')
on('ModeChanged', function()
  local old = vim.v.event.old_mode
  if not old:find('^[ic]') then -- CTRL-R = and completion are part of an insertion
    is_in_block = old:find('[\22\19]') ~= nil
  end
end, { pattern = '*:i*' })
on('ModeChanged', function() is_in_search = vim.v.event.old_mode:find(SELECTION) ~= nil end, {
  pattern = '*:c*',
})

--- Return whether a hunk changes the number of lines.
---@param hunk acp.RowsHunk
local function changes_line_count(hunk)
  local first, last, lines = unpack(hunk)
  return last - first ~= #lines
end

---@param hunks acp.RowsHunk[]
local function moves_lines(hunks) return vim.iter(hunks):any(changes_line_count) end

--- Return the unfinished command line that would change the buffer.
---@return string|nil
local function command_line(bufnr)
  if fn.getcmdwintype() == ':' then
    return fn.winbufnr(fn.winnr('#')) == bufnr and api.nvim_get_current_line() or nil
  end
  return api.nvim_get_current_buf() == bufnr and fn.getcmdtype() == ':' and fn.getcmdline() or nil
end

--- Return whether Neovim will return to a line by its number: a search and CTRL-R = put the cursor
--- back, and CTRL-R = may be part of a command with line numbers.
local function returns_to_line() return fn.getcmdtype():find('[/?=]') ~= nil end

--- Return why a completion blocks these hunks, or nil. A completion replaces the text up to the
--- cursor from its first line on, which Neovim knows by number.
---@param mode string
---@param hunks acp.RowsHunk[]
local function why_completion_blocks(mode, hunks)
  if not mode:find(COMPLETION) then return nil end
  local row = api.nvim_win_get_cursor(0)[1] - 1
  local function touches(hunk)
    local first, last = unpack(hunk)
    return first <= row and (last > row or changes_line_count(hunk))
  end
  return vim.iter(hunks):any(touches) and 'the user completes a word' or nil
end

--- Return why a pending operator blocks these hunks. An operator refers to a line by its number.
---@param mode string
---@param hunks acp.RowsHunk[]
local function why_operator_blocks(mode, hunks)
  local row = api.nvim_win_get_cursor(0)[1] - 1
  local function is_above(hunk) return hunk[1] <= row end
  if mode:find('^i') then
    return is_in_block and 'the user inserts text into a block of lines' or nil
  elseif mode:find('^c') or (mode:find('^no') and vim.iter(hunks):any(is_above)) then
    return 'an operator of the user waits for its motion' -- `/` moves the cursor to a match
  end
end

--- Return whether there is a selection. A search or an expression that was started from a selection
--- keeps the selection.
---@param mode string
local function has_selection(mode)
  return mode:find(SELECTION) ~= nil
    or (mode:find('^c') ~= nil and is_in_search and fn.getcmdtype() ~= ':')
end

--- Return why the selection blocks these hunks.
---@param hunks acp.RowsHunk[]
local function why_selection_blocks(hunks)
  local start, other = fn.line('v'), fn.line('.')
  local first, last = math.min(start, other) - 1, math.max(start, other)
  local is_touched = vim.iter(hunks):any(function(hunk)
    local hunk_first, hunk_last = unpack(hunk)
    return hunk_first < last and (hunk_last > first or changes_line_count(hunk))
  end)
  return is_touched and 'the user has selected lines' or nil
end

--- Return why an edit must wait until the user has finished. `:s///c` asks about a line and then
--- changes the line with that number. Operators, insertions into a block, completion and command
--- lines also refer to line numbers, so hunks above would make them change other text.
---@param hunks acp.RowsHunk[]
---@return string|nil why
function M.why_busy(bufnr, hunks)
  local line = command_line(bufnr)
  if
    line
    and moves_lines(hunks)
    and require('acp.buffers.numbered_command').refers_to_lines(line)
  then
    return 'a command line of the user names lines by number'
  end
  if api.nvim_get_current_buf() ~= bufnr then return nil end
  local mode = api.nvim_get_mode().mode
  if mode == 'r?' then return 'Neovim waits for an answer of the user' end
  if has_selection(mode) then return why_selection_blocks(hunks) end
  if returns_to_line() and moves_lines(hunks) then
    return 'a command line of the user returns to a line by its number'
  end
  local pending = fn.state('o') ~= '' and why_operator_blocks(mode, hunks) or nil
  return pending or why_completion_blocks(mode, hunks)
end

--- Return whether an autocommand of this event is running for a buffer and waits.
---@param event string
local function is_during(event, bufnr)
  local is_running = fn.expand('<stack>'):find(event, 1, true) ~= nil
  return is_running and fn.expand('<abuf>') == tostring(bufnr)
end

--- Return why a buffer does not have the text of its file: until BufReadPre is over, it is empty.
---@return string|nil why
function M.why_empty(bufnr)
  return is_during('BufReadPre', bufnr) and 'Neovim is reading the file' or nil
end

--- Return why an agent must not edit a buffer that is being saved or read. The user's autocommands,
--- such as a formatter that waits for its language server, may refer to line numbers.
---@return string|nil why
function M.why_in_transfer(bufnr)
  return is_during('BufWritePre', bufnr) and 'the user saves the file' or M.why_empty(bufnr)
end

--- Return why a buffer must not be reloaded until the user has finished.
---@return string|nil why
function M.why_not_reload(bufnr)
  local whole = { 0, api.nvim_buf_line_count(bufnr), {} }
  return M.why_busy(bufnr, { whole })
end

return M
