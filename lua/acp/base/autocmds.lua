--- Helpers to create autocommands, in groups by subject or local to a buffer.
local M = {}

---@alias acp.On fun(events: string|string[], callback: function|string, opts?: table): integer

--- Create or clear a group. Return a function that adds autocommands to it, and its id.
---@return acp.On on
---@return integer group
function M.group(name)
  local group = vim.api.nvim_create_augroup(name, {})
  return function(events, callback, opts)
    local action = type(callback) == 'string' and 'command' or 'callback'
    opts = vim.tbl_extend('error', opts or {}, { group = group, [action] = callback })
    return vim.api.nvim_create_autocmd(events, opts)
  end,
    group
end

---@param events string|string[]
---@param callback function
---@return integer id
function M.in_buffer(bufnr, events, callback)
  return vim.api.nvim_create_autocmd(events, { buffer = bufnr, callback = callback })
end

return M
