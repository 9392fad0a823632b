--- Keys that the user types while Neovim or the host is busy, or for a question that has just
--- ended. An interrupt would drop them. A dialog, or the window behind the question, would act on
--- them.
local M = {}

--- Time after the end of a question, in milliseconds, during which a key is still meant for it.
M.LATE_MS = 400

local ns = vim.api.nvim_create_namespace('acp.typed_keys')
local typed_at ---@type integer|nil time of the last key since the last request

--- Time without a key after which a dialog may open for a user who has gone on typing.
local PAUSE_MS = 400

--- Watch the keys that the user types after a request whose answer may be a dialog.
function M.on_requested()
  typed_at = nil
  vim.on_key(function(_, typed)
    if typed ~= nil and typed ~= '' then typed_at = vim.uv.now() end
  end, ns)
end

--- Return the time until a dialog from the host may open: 0 if the user has typed nothing since the
--- request.
---@return integer milliseconds
function M.pause_left() return typed_at and math.max(typed_at + PAUSE_MS - vim.uv.now(), 0) or 0 end

--- Stop watching: a dialog has opened.
function M.on_dialog()
  typed_at = nil
  vim.on_key(nil, ns)
end

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

--- Return the keys that continue the current insertion after an interrupt, nil if there is none.
---@return string|nil
local function continuing_keys()
  local mode = vim.api.nvim_get_mode().mode:gsub('^ni[RV]', 'R'):gsub('^ni', 'i')
  return CONTINUE[mode:sub(1, 1)]
end

--- Type keys again as soon as Neovim waits for a key. If an interrupt has ended Insert or Replace
--- mode by then, continue it first, since the keys may be text.
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
