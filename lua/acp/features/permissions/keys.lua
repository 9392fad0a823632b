--- Keys of a pending question, in its float and on its card in the chat.
local actions = require('acp.ui.actions')

local function decide(...) return actions.call('acp.features.permissions.decide', ...) end

local M = {
  permission = {
    allow_once = { 'allow once', decide('answer_with_kind', 'allow_once') },
    allow_always = { 'allow always', decide('answer_with_kind', 'allow_always') },
    reject_once = { 'reject once', decide('answer_with_kind', 'reject_once') },
    reject_always = { 'reject always', decide('answer_with_kind', 'reject_always') },
    open = { 'show all of it, or its form', decide('open') },
    click = { 'choose that option', decide('click') },
    review = { 'show its edits side by side', decide('review') },
    close = { 'close the window', actions.close },
  },
}

for i = 1, 9 do
  M.permission['option_' .. i] = { 'the option of that number', decide('answer_with_option', i) }
end

return M
