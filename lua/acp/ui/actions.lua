--- Actions of keys in several kinds of windows, and in read-only windows.
local M = {}

--- Close the current window and go back to the previous one.
function M.close() require('acp.ui.window').leave() end

--- Close a window that the user writes in, unless that would discard changes.
function M.close_written(bufnr)
  if vim.bo[bufnr].modified and vim.bo[bufnr].bufhidden == 'wipe' then
    require('acp.base.notify').show('warn', 'not_applied')
  else
    M.close()
  end
end

--- Write the current buffer, from any mode.
function M.write()
  vim.cmd.stopinsert()
  vim.cmd.write()
end

--- Return an action that calls a function of a module with fixed arguments.
---@param module string
---@param name string
---@param ... any
---@return fun()
function M.call(module, name, ...)
  local args = { ... }
  return function() require(module)[name](unpack(args)) end
end

--- Act on a double click. The first click has put the cursor there, unless a window has moved
--- since.
---@param act fun(): boolean|nil returns false if nothing at the cursor can be clicked; then a word
---  is selected, as usual
function M.click(act)
  local mouse = vim.fn.getmousepos()
  local is_there = mouse.winid == vim.api.nvim_get_current_win() and mouse.line == vim.fn.line('.')
  if not is_there or act() == false then
    vim.api.nvim_feedkeys(vim.keycode('<2-LeftMouse>'), 'n', false)
  end
end

---@param at_line boolean
local function open_file(at_line)
  return function(_, n) require('acp.ui.file_at_cursor').open(at_line, n) end
end

M.open_file = { 'open the file under the cursor', open_file(false) }
M.open_file_at_line = { 'open the file under the cursor at its line', open_file(true) }

---@type table<string, table<string, acp.Action>>
M.windows = {
  view = {
    close = { 'close the window', function(bufnr) require('acp.ui.report').close(bufnr) end },
    open_file = M.open_file,
    open_file_at_line = M.open_file_at_line,
  },
}

return M
