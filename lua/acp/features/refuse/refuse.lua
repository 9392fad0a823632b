--- Refusals of questions that the user has seen, with a reason.
local M = {}

local emit = require('acp.base.signals').emit
local messages = require('acp.base.messages')

local KIND = 'reject_once'

--- Refuse a question, unless the reason is blank. If the host is not running, the reason goes into
--- the composer.
---@param card acp.Card
---@param reason string|nil
local function send(card, reason)
  if not reason or not reason:match('%S') then return end
  emit('question_answered', card.id)
  local args = { id = card.id, reason = reason, session = card.session }
  if not require('acp.base.host').notify('refuse', args) then
    emit('prompt_comes_back', card.session, reason)
  end
end

--- Return the card of a question that can be refused once. Otherwise show its options.
---@param id integer|string
---@return acp.Card|nil
local function refusable(id)
  local card = emit('question_card', id)
  local options = card and card.options or {}
  if vim.iter(options):any(function(option) return option.kind == KIND end) then return card end
  local ids = vim.tbl_map(function(option) return option.id end, options)
  local names = #ids > 0 and table.concat(ids, ', ') or 'none'
  require('acp.base.notify').show('error', 'no_option_of_kind', KIND, names)
end

--- Ask for the reason and refuse. Without a reason nothing is answered.
---@param card acp.Card
local function ask(card)
  vim.ui.input({ prompt = messages.ask_reason }, function(reason) send(card, reason) end)
end

--- Ask for the reason and refuse the question under the cursor.
function M.at_cursor()
  local id = emit('question_for_key')
  local card = id and refusable(id)
  if card then ask(card) end
end

--- `:Acp refuse`: refuse the oldest question. Without a reason, ask for one. If the question has
--- no option for that, the reason goes into the composer.
---@param reason string
function M.command(reason)
  local id = emit('question_for_command')
  local card = id and refusable(id)
  if not card then
    local asked = id and emit('question_card', id)
    if asked and reason:match('%S') then emit('prompt_comes_back', asked.session, reason) end
    return
  end
  if reason:match('%S') then
    send(card, reason)
  else
    ask(card)
  end
end

return M
