local first, last, ids = ...
local rows, targets = {}, {}
for i, id in ipairs(ids) do
  rows[i] = id == '' and 'text' or 'card ' .. id
  if id ~= '' then
    vim.list_extend(targets, { i - 1, { decision = id, first = true, last = true } })
  end
end
require('acp.features.chat.view').replace(1, first, last, rows, { {}, {}, targets })
