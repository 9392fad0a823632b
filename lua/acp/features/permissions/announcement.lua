--- Message that announces a question.

local text_width = require('acp.base.text.width')

--- Show the message unless a window shows the question. If the float is hidden, add the keys that
--- answer. If Neovim does not have the focus and `notify` is set, always show it.
---@param card acp.Card
---@param count integer number of new questions
---@param in_float boolean whether the float is shown
return function(card, count, in_float)
  local away = vim.g.acp_focused == false and require('acp.config').get().notify
  if require('acp.features.permissions.in_view').where({ card }) and not away then return end
  local notify, messages = require('acp.base.notify'), require('acp.base.messages')
  local text = card.title or ''
  text = notify.one_line(text ~= '' and text or card.lines[1] or messages.a_question)
  local more = count > 1 and ' ' .. messages.part_more:format(count - 1) or ''
  local room = vim.v.echospace - #'acp: ' - #more
  if not in_float then
    local half = math.floor(room / 2)
    local legend = require('acp.features.permissions.legend')
    local keys = legend.message(card, math.max(half, room - text_width(text) - 3))
    more = more .. ' · ' .. keys
    room = room - text_width(keys) - 3
  end
  notify.echo('info', notify.cut(text, math.max(room - 1, 10)) .. more)
end
