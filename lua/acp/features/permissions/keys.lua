--- Keys of a pending question, in its float and on its card in the chat.
local actions = require('acp.ui.actions')

---@param ... any arguments
local function decide(name, ...)
  local args = { ... }
  return function() require('acp.features.permissions.decide')[name](unpack(args)) end
end

local M = {
  permission = {
    allow_once = { 'allow once', decide('kind', 'allow_once') },
    allow_always = { 'allow always', decide('kind', 'allow_always') },
    reject_once = { 'reject once', decide('kind', 'reject_once') },
    reject_always = { 'reject always', decide('kind', 'reject_always') },
    open = { 'show all of it, or its form', decide('open') },
    review = { 'show its edits side by side', decide('review') },
    close = { 'close the window', actions.close },
  },
}

for i = 1, 9 do
  M.permission['option_' .. i] = { 'the option of that number', decide('option', i) }
end

return M
