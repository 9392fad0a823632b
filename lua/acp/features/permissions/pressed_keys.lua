--- Keys that the user presses while a question is pending: whether a key was typed or comes from a
--- mapping, whether a register precedes it, and the key of an answer.
local M = {}

local ns = vim.api.nvim_create_namespace('acp.pressed_keys')

local previous, last_typed, is_typed = '', '', true
local has_register, had_register = false, false -- before the next key; before the last one
local answered ---@type { id: integer|string, key: string }|nil last answer of the user

--- Watch the keys from now on.
function M.watch()
  vim.on_key(function(key, typed)
    had_register = has_register
    has_register = previous == '"' or has_register and key:match('^%d$') ~= nil
    previous, is_typed = key, key == typed
    last_typed = typed ~= '' and typed or last_typed
  end, ns)
end

--- Stop watching the keys.
function M.stop()
  is_typed = true
  vim.on_key(nil, ns)
end

--- Return whether the user typed the last key. Mappings and macros also produce keys.
---@return boolean
function M.is_typed() return is_typed end

--- Return whether a register precedes the key that runs a mapping. With 'clipboard', |v:register|
--- is the same without one.
---@param is_expr boolean whether the mapping is an expression, which Neovim evaluates before it
---   reports the key
---@return boolean
function M.is_register_typed(is_expr)
  if is_expr then return has_register end
  return had_register
end

--- Record that the user has answered a question with the last key.
---@param id integer|string
function M.on_answered(id) answered = { id = id, key = last_typed } end

--- Return the key with which the user answered a question, nil if they did not.
---@param id integer|string
---@return string|nil
function M.answering_key(id) return answered and answered.id == id and answered.key or nil end

return M
