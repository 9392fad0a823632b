--- Buffers of files in a removed worktree.
local M = {}

--- Frame operation: delete the hidden buffers of a removed directory that have no unsaved text, and
--- close comparisons with its files.
---@param directory string
function M.forget(directory)
  for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
    local name = vim.api.nvim_buf_get_name(bufnr)
    local is_there = vim.startswith(name, directory .. '/')
    if is_there and not vim.bo[bufnr].modified and #vim.fn.win_findbuf(bufnr) == 0 then
      pcall(vim.api.nvim_buf_delete, bufnr, {})
    end
  end
  require('acp.features.worktrees.compare').forget(directory)
end

return M
