--- Messages that announce new questions.
local M = {}

local text_width = require('acp.base.text.width')

local MIN_TITLE = 30 -- cells of a question's title in a message

local unannounced ---@type { card: acp.Card, count: integer }|nil new questions

--- Announce a question to other features and, unless a window shows it, in a message. If the float
--- is hidden, add the keys that answer to the message.
---@param card acp.Card
---@param count integer number of new questions
---@param in_float boolean whether the float is shown
local function show(card, count, in_float)
  local is_in_view = require('acp.features.permissions.in_view').where({ card }) ~= nil
  local notify, messages = require('acp.base.notify'), require('acp.base.messages')
  local text = card.title or ''
  text = notify.one_line(text ~= '' and text or card.lines[1] or messages.a_question)
  local more = count > 1 and ' ' .. messages.part_more:format(count - 1) or ''
  require('acp.base.signals').emit('question_announced', card.session, text .. more, not is_in_view)
  if is_in_view then return end
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

--- Return whether a message has room for the keys that answer and enough of a question.
---@param card acp.Card
---@return boolean
function M.fits(card)
  local keys = require('acp.features.permissions.legend').message(card, 0)
  return vim.v.echospace - text_width('acp:  · ' .. keys) >= MIN_TITLE
end

--- Announce new questions soon, all in one message. Nothing is announced if the first one has ended
--- by then.
---@param card acp.Card the first one
---@param count integer
---@param is_float_shown fun(): boolean
function M.add(card, count, is_float_shown)
  if unannounced then
    unannounced.count = unannounced.count + count
    return
  end
  unannounced = { card = card, count = count }
  vim.schedule(function()
    local new = unannounced --[[@as { card: acp.Card, count: integer }]]
    unannounced = nil
    if require('acp.features.permissions.cards').get(new.card.id) then
      show(new.card, new.count, is_float_shown())
    end
  end)
end

return M
