--- Keys that the user has typed while Neovim was busy. An interrupt would drop them, and a dialog
--- of Neovim would take them as its answer.
local M = {}

--- Remove the waiting keys and return those that the user typed. The rest of a mapping or macro is
--- dropped, as after an error.
---@return string keys in the internal form
function M.take()
  local keys = {}
  local is_typed
  local listener = vim.on_key(function(_, typed) is_typed = typed ~= nil and typed ~= '' end)
  repeat
    is_typed = false
    local key = vim.fn.getcharstr(0)
    if is_typed then keys[#keys + 1] = key end
  until key == ''
  vim.on_key(nil, listener)
  return table.concat(keys)
end

local TOGGLE = vim.api.nvim_replace_termcodes('<Insert>', true, true, true)
local CONTINUE = { i = 'gi', R = 'gi' .. TOGGLE } -- by mode

--- Return the keys that continue the present insertion after an interrupt, nil if there is none.
---@return string|nil
local function continuing_keys()
  local mode = vim.api.nvim_get_mode().mode:gsub('^ni[RV]', 'R'):gsub('^ni', 'i')
  return CONTINUE[mode:sub(1, 1)]
end

--- Type keys again as soon as Neovim waits for a key. If an interrupt ends Insert or Replace mode
--- meanwhile, continue it first, since the keys may be text.
---@param keys string from `take`
function M.give_back(keys)
  if keys == '' then return end
  local continuing = continuing_keys()
  vim.schedule(function()
    if continuing and not continuing_keys() then vim.api.nvim_feedkeys(continuing, 'n', false) end
    vim.api.nvim_feedkeys(keys, 'mt', false)
  end)
end

return M
