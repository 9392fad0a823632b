--- Windows of the plugin in session files (|:mksession|). A session file has their names, but not
--- their contents, and it fails to load if a buffer has such a name already.
local M = {}

--- Lines that take the place of a name. They mark the window until the file is loaded.
local MARK, BASE_MARK = "let w:acp_from_session = 'any'", "let w:acp_from_session = 'base'"

--- Remove the names of the plugin's buffers from the session file that has just been written.
function M.on_written()
  local path, is_changed = vim.v.this_session, false
  local ok, lines = pcall(vim.fn.readfile, path, 'b')
  for i, line in ipairs(ok and lines or {}) do
    if line:match('^file acp://') then
      lines[i], is_changed = line:match('^file acp://base/') and BASE_MARK or MARK, true
    end
  end
  if is_changed then vim.fn.writefile(lines, path, 'b') end
end

--- Close a window, and wipe out its buffer unless another window shows it.
---@param win integer
local function close(win)
  local bufnr = vim.api.nvim_win_get_buf(win)
  vim.w[win].acp_from_session = nil
  local is_shared = #vim.fn.win_findbuf(bufnr) > 1
  if not pcall(vim.api.nvim_win_close, win, true) or is_shared then return end -- the last window
  vim.api.nvim_buf_delete(bufnr, { force = true })
end

--- Reset the options of a review in the other windows of its tab page, and close the tab page if it
--- has no window besides the one of the reviewed file.
local function end_review(tab)
  if not vim.api.nvim_tabpage_is_valid(tab) then return end
  local win_of = require('acp.ui.win')
  local wins = win_of.splits(tab)
  for _, win in ipairs(wins) do
    vim.api.nvim_win_call(win, vim.cmd.diffoff)
    if vim.wo[win].winbar:find('%#Acp', 1, true) then win_of.set(win, 'winbar', '') end
  end
  local is_alone = #wins == 1 and #vim.api.nvim_list_tabpages() > 1
  if is_alone then pcall(vim.api.nvim_win_close, wins[1], false) end
end

--- Close the windows that a session file has made for buffers of the plugin. Wipe out buffers with
--- their names, which earlier versions left in the file; it does not contain buffer variables.
function M.on_loaded()
  for _, win in ipairs(vim.api.nvim_list_wins()) do
    local mark, tab = vim.w[win].acp_from_session, vim.api.nvim_win_get_tabpage(win)
    if mark then close(win) end
    -- No window can be closed in the autocommand if it runs for a hidden buffer.
    if mark == 'base' then vim.schedule(function() end_review(tab) end) end
  end
  for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
    local name = vim.api.nvim_buf_get_name(bufnr)
    if vim.startswith(name, 'acp://') and not vim.b[bufnr].acp then
      vim.api.nvim_buf_delete(bufnr, { force = true })
    end
  end
end

return M
